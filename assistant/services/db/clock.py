"""The database's clock, which all hosts share, and how it compares with the clocks of this host.

Leases are written and compared with the database's time, so that a host with a wrong clock ends no run of another. The
database's own clock may jump too; each process finds that out from its monotonic clock.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.models import Aggregate, DateTimeField, Func, Max
from django.db.models.functions import Coalesce
from django.utils import timezone

from assistant.services import gauges

logger = logging.getLogger(__name__)

# A host whose clock differs by more is reported. Clocks kept by NTP differ by milliseconds.
MAX_DIFFERENCE_SECONDS = 2.0
# A larger change of the database's clock against the monotonic clock, between two readings, is a jump.
JUMP_SECONDS = 1.0
# The latest jumps are remembered, up to this many.
MAX_JUMPS = 100


class DatabaseTime(Func):
    """The database's time as a query expression, at the start of the statement, not of the transaction.

    Without parameters, so that prepared queries can contain it.

    Args:
        offset: seconds to add.
    """

    output_field = DateTimeField()

    def __init__(self, offset: float = 0.0) -> None:
        super().__init__()
        self.offset = offset

    def as_sql(self, *_: Any, **__: Any) -> tuple[str, list[Any]]:  # type: ignore[override]  # no parameters
        return f"(STATEMENT_TIMESTAMP() + INTERVAL '{self.offset:.3f} seconds')", []

    def as_sqlite(self, *_: Any, **__: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        return f"STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '{self.offset:+.3f} seconds')", []


def latest_database_time() -> Aggregate | Coalesce:
    """Return the database's time as an aggregate, which has a value without rows too."""
    return Coalesce(Max(DatabaseTime()), DatabaseTime())


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of the database's clock.

    Attributes:
        database: the database's time.
        host: this host's time just before and just after.
        steady: this process's monotonic clock just before and just after, in seconds.
    """

    database: datetime
    host: tuple[datetime, datetime]
    steady: tuple[float, float]

    @property
    def difference(self) -> float:
        """The seconds that the host is ahead of the database, less what the duration of the query can explain."""
        least, most = ((at - self.database).total_seconds() for at in self.host)
        return _nearest_to_zero(least, most)

    def jump_since(self, earlier: Reading) -> float:
        """Return the seconds that the database's clock has jumped forward since an earlier reading."""
        passed = (self.database - earlier.database).total_seconds()
        least, most = self.steady[0] - earlier.steady[1], self.steady[1] - earlier.steady[0]
        jump = _nearest_to_zero(passed - most, passed - least)
        return jump if abs(jump) > JUMP_SECONDS else 0.0


def read_clock(query: Callable[[], datetime]) -> Reading:
    """Return the reading of a query that returns the database's time."""
    host, steady = timezone.now(), time.monotonic()
    database = query()
    return Reading(database, (host, timezone.now()), (steady, time.monotonic()))


def database_time() -> datetime:
    """Return the database's time. Raises `DatabaseError` if it does not answer."""
    is_sqlite = connection.vendor == "sqlite"
    with connection.cursor() as cursor:
        cursor.execute("SELECT STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')" if is_sqlite else "SELECT STATEMENT_TIMESTAMP()")
        (at,) = cursor.fetchone()
    return datetime.fromisoformat(at).replace(tzinfo=UTC) if is_sqlite else at


class ClockWatch:
    """Compares readings of the database's clock with each other and with the host's clock; `readings` counts them."""

    def __init__(self) -> None:
        self._last: Reading | None = None
        self.readings = 0
        self._began_at = math.inf
        # The monotonic time and the seconds of each jump.
        self._jumps: deque[tuple[float, float]] = deque(maxlen=MAX_JUMPS)
        self._count = 0
        self._is_apart = False

    @property
    def difference(self) -> float:
        """The seconds that the host was ahead of the database at the last reading; 0 before the first."""
        return self._last.difference if self._last else 0.0

    @property
    def jumps(self) -> int:
        """How often the database's clock has jumped."""
        return self._count

    def observe(self, reading: Reading) -> None:
        """Take a reading; log a jump, and a host that differs by more than `MAX_DIFFERENCE_SECONDS`."""
        last, self._last = self._last, reading
        self.readings += 1
        if last is None:
            self._began_at = reading.steady[1]
        elif jump := reading.jump_since(last):
            self._jumps.append((reading.steady[1], jump))
            self._count += 1
            logger.warning(
                "The database's clock has jumped by %+.1f s. No run is taken over until leases are renewed.", jump
            )
        was_apart, self._is_apart = self._is_apart, abs(reading.difference) > MAX_DIFFERENCE_SECONDS
        if self._is_apart and not was_apart:
            logger.warning(
                "The clock of this host is %+.1f s from the database's. Leases do not depend on it, but times shown, "
                "limits and expiry of keys do: synchronise it.",
                reading.difference,
            )

    def seconds_since_jump(self) -> float:
        """Return the seconds since the database's clock last jumped; infinity if it has not since the first reading."""
        return time.monotonic() - self._jumps[-1][0] if self._jumps else math.inf

    def watched_seconds(self) -> float:
        """Return how long the database's clock has been watched without a jump; 0 before the first reading."""
        return max(0.0, min(time.monotonic() - self._began_at, self.seconds_since_jump()))

    def jumped_forward(self, seconds: float) -> float:
        """Return by how much the clock has jumped forward, in total, within the last `seconds` of real time.

        Anything that began before these jumps is younger than the clock says, by that much.
        """
        since = time.monotonic() - seconds
        return max(0.0, math.fsum(jump for at, jump in self._jumps if at > since))


def _nearest_to_zero(least: float, most: float) -> float:
    return 0.0 if least <= 0 <= most else least if least > 0 else most


# The readings of this process; runs take one every few seconds.
clock_watch = ClockWatch()

gauges.watch(
    "assistant_clock_difference_seconds",
    "How far this host's clock is ahead of the database's.",
    lambda: clock_watch.difference,
)
gauges.watch(
    "assistant_clock_readings",
    "How often the database's clock was read, since the process started.",
    lambda: clock_watch.readings,
)
gauges.watch(
    "assistant_database_clock_jumps",
    "How often the database's clock has jumped, since the process started.",
    lambda: clock_watch.jumps,
)
