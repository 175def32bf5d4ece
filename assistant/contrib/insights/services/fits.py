"""Ranks the days of changes by how well a step of a measure fits them: the share of runs before and since."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from assistant.contrib.insights.services.measures import Measure, deviations_between
from assistant.contrib.insights.services.reports import DayOfSums

# So many days before a change and since it are compared, and so many runs each side needs.
COMPARED_DAYS = 14
LEAST_RUNS = 10
# A step below this many standard deviations of chance fits nothing, and at most so many days are named.
LEAST_DEVIATIONS = 2.5
NAMED = 3


@dataclass(frozen=True, slots=True)
class Fit:
    """A day of changes, with the shares of runs before it and from it on, in per cent, and the step in deviations."""

    day: date
    before: float
    since: float
    deviations: float


def fitting_days(days: Sequence[DayOfSums], changed: Collection[date], measure: Measure) -> list[Fit]:
    """Return the days of changes after which a measure became worse, the one that fits best first.

    The day itself counts as one since the change. Nothing is read: the sums of the page are enough.

    Args:
        days: consecutive days, the oldest first.
    """
    if not measure.is_warned:
        return []
    found = []
    for place, one in enumerate(days):
        if one.day not in changed:
            continue
        runs, bad = _sum(days[max(0, place - COMPARED_DAYS) : place], measure)
        runs_since, bad_since = _sum(days[place : place + COMPARED_DAYS], measure)
        if min(runs, runs_since) < LEAST_RUNS:
            continue
        deviations = deviations_between(bad_since, runs_since, bad, runs)
        if deviations >= LEAST_DEVIATIONS:
            found.append(Fit(one.day, 100 * bad / runs, 100 * bad_since / runs_since, deviations))
    return sorted(found, key=lambda fit: -fit.deviations)[:NAMED]


def _sum(days: Sequence[DayOfSums], measure: Measure) -> tuple[int, int]:
    return sum(one.sums["runs"] for one in days), sum(one.sums[measure.of] for one in days)
