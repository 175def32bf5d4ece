"""When a schedule is due: a cron line in a time zone, or one moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from django.utils.translation import gettext as _

# The least time between two moments of a cron line.
MIN_INTERVAL = timedelta(minutes=15)
# How many moments of a cron line are checked for that.
LOOKED_AT = 100
FIELDS = 5


class InvalidMoments(ValueError):
    """A cron line or a moment cannot be used. People and models read the sentence."""


def check_cron(line: str, zone: str, after: datetime) -> None:
    """Raise `InvalidMoments` unless a cron line has five fields, a moment, and 15 minutes between its moments."""
    if len(line.split()) != FIELDS:
        raise InvalidMoments(_("A cron line has five fields: minute, hour, day, month, day of the week."))
    try:
        moments = list(islice(CronSim(line, after.astimezone(ZoneInfo(zone))), LOOKED_AT))
    except CronSimError as exc:
        raise InvalidMoments(_("This is no cron line: %(problem)s.") % {"problem": exc}) from exc
    if not moments:
        raise InvalidMoments(_("This cron line has no moment."))
    if any(_between(earlier, later) < MIN_INTERVAL for earlier, later in pairwise(moments)):
        raise InvalidMoments(_("A schedule asks every 15 minutes at most."))


def next_moment(line: str, zone: str, after: datetime) -> datetime | None:
    """Return the first moment of a valid cron line after another one, in its time zone; None if there is none.

    A time that the clocks skip is due when they have been set forward, and one that they show twice is due once, as in
    Debian's cron.
    """
    return next(CronSim(line, after.astimezone(ZoneInfo(zone))), None)


def _between(earlier: datetime, later: datetime) -> timedelta:
    # Python subtracts two times of one zone by what the clocks show.
    return later.astimezone(UTC) - earlier.astimezone(UTC)
