"""Finds the days from which on a share of runs is worse than its own past; arithmetic over sums, without a model.

A step is a difference of two shares that chance does not explain: twice the logarithm of the ratio of likelihoods
(Wilks), whose root is in standard deviations also where there are few runs. A day is tried as the first of one to 28.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from assistant.contrib.insights.services.drifts import best_slope

# The own past that a step is compared with, and how many days it may last to be found.
PAST_DAYS = 28
LASTING = (1, 2, 3, 5, 7, 14, 28)
# So many runs each side needs.
LEAST_EARLIER = 20
LEAST_SINCE = 15
# A longer step is taken for the same one if it is so clear by comparison.
_AS_CLEAR = 0.8
# A step in points of a share, as a factor, and in standard deviations of chance.
LEAST_POINTS = 0.05
LEAST_FACTOR = 1.4
LEAST_DEVIATIONS = 4.4
# Days that explain a step nearly as well, by the logarithm of the likelihood; and steps of one series.
_NEARLY = 7.0
NEAR_DAYS = 14
MAX_STEPS = 3


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many runs."""

    bad: int
    runs: int

    @property
    def part(self) -> float:
        """As a part of 1; 0 of nothing."""
        return self.bad / self.runs if self.runs else 0.0


@dataclass(frozen=True, slots=True)
class Slope:
    """A share that became worse day by day.

    Attributes:
        place: the first day of it, as an index of the series.
        gain: by how much it is likelier than a step, by the logarithm.
        since: the share of its last days.
    """

    place: int
    gain: float
    before: Share
    since: Share


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A share that has become worse.

    Attributes:
        place: the first day of it, as an index of the series.
        fits: how well each day near it explains the step, from 0 to 1, by its index.
        end: the index after the last day that is compared.
        is_over: the days after `end` are better again.
        slope: it became worse day by day from a day on, which explains it better than one day does; and by how much.
    """

    place: int
    end: int
    before: Share
    since: Share
    deviations: float
    fits: dict[int, float]
    is_over: bool = False
    slope: Slope | None = None

    @property
    def past(self) -> int:
        """The index of the first day that it is compared with."""
        return max(0, self.place - PAST_DAYS)


class _Sums:
    """Sums of any piece of a series, at once."""

    def __init__(self, series: Sequence[Share]) -> None:
        self.bad = [0, *accumulate(day.bad for day in series)]
        self.runs = [0, *accumulate(day.runs for day in series)]

    def of(self, begin: int, end: int) -> Share:
        return Share(self.bad[end] - self.bad[begin], self.runs[end] - self.runs[begin])


def steps_of(series: Sequence[Share]) -> list[Step]:
    """Return the steps of a series of days, the oldest first."""
    sums = _Sums(series)
    open_pieces = [(0, len(series))]
    found: list[Step] = []
    while open_pieces and len(found) < MAX_STEPS:
        begin, end = open_pieces.pop()
        step = _best(series, sums, begin, end)
        if step is not None:
            found.append(step)
            open_pieces += [
                (begin, step.place),
                (step.end if step.is_over or step.slope is not None else step.place, end),
            ]
    return sorted(found, key=lambda step: step.place)


def deviations_of(since: Share, before: Share) -> float:
    """Return by how many standard deviations a share is above an earlier one; 0 if it is not."""
    if not since.runs or not before.runs or since.part <= before.part:
        return 0.0
    both = Share(since.bad + before.bad, since.runs + before.runs)
    return math.sqrt(2 * max(0.0, _likelihood(since) + _likelihood(before) - _likelihood(both)))


def _likelihood(share: Share) -> float:
    """Return the logarithm of the likelihood of what was counted, given its own share."""
    good = share.runs - share.bad
    return sum(number * math.log(number / share.runs) for number in (share.bad, good) if number)


def _best(series: Sequence[Share], sums: _Sums, begin: int, end: int) -> Step | None:
    """Return the clearest step of a piece of the series, if there is one."""
    found = list(_candidates(sums, begin, end))
    if not found:
        return None
    most, place, until = max(found)
    until = max(one[2] for one in found if one[1] == place and one[0] >= _AS_CLEAR * most)
    past = max(begin, place - PAST_DAYS)
    fits = _fits(sums, past, place, until)
    # Of days with enough runs until the end, the one that explains it best.
    place = max(
        (day for day in fits if day <= place or sums.of(day, until).runs >= LEAST_SINCE),
        key=lambda day: (fits[day], -day),
        default=place,
    )
    before = sums.of(past, place)
    since = sums.of(place, until)
    step = Step(place, until, before, since, deviations_of(since, before), fits)
    later = sums.of(until, end)
    if until < end and deviations_of(step.since, later) >= LEAST_DEVIATIONS / 2 and _is_calm(later, step):
        return replace(step, is_over=True)
    return replace(step, slope=_slope(series, sums, step, begin, end))


def _is_calm(later: Share, step: Step) -> bool:
    """Return whether later days are nearer to those before a step than to those of it."""
    return later.runs >= LEAST_SINCE and later.part < (step.before.part + step.since.part) / 2


def _candidates(sums: _Sums, begin: int, end: int) -> Iterator[tuple[float, int, int]]:
    """Yield the deviations, the first day and the end of all steps that are large and clear enough."""
    for place in range(begin + 1, end):
        before = sums.of(max(begin, place - PAST_DAYS), place)
        if before.runs < LEAST_EARLIER:
            continue
        least = max(before.part + LEAST_POINTS, LEAST_FACTOR * before.part)
        for until in sorted({min(place + days, end) for days in LASTING}):
            runs = sums.runs[until] - sums.runs[place]
            if runs < LEAST_SINCE or sums.bad[until] - sums.bad[place] < least * runs:
                continue
            deviations = deviations_of(sums.of(place, until), before)
            if deviations >= LEAST_DEVIATIONS:
                yield deviations, place, until


def _fits(sums: _Sums, past: int, place: int, until: int) -> dict[int, float]:
    """Return how well days explain a step, compared with the best of them; those that do not at all are left out."""
    tried = {
        day: _likelihood(sums.of(past, day)) + _likelihood(sums.of(day, until))
        for day in range(max(past + 1, place - NEAR_DAYS), min(until, place + NEAR_DAYS + 1))
        if sums.of(past, day).part < sums.of(day, until).part
    }
    best = max(tried.values())
    # By the third root: people are more alike within a day than chance has it.
    return {day: math.exp((value - best) / 3) for day, value in tried.items() if value >= best - _NEARLY}


def _slope(series: Sequence[Share], sums: _Sums, step: Step, begin: int, end: int) -> Slope | None:
    first = max(begin, step.place - PAST_DAYS)
    last = min(end, step.place + PAST_DAYS)
    best_step = max(
        _likelihood(sums.of(first, day)) + _likelihood(sums.of(day, last)) for day in range(first + 1, last)
    )
    likelihood, start = best_slope([(day.bad, day.runs) for day in series[first:last]])
    if likelihood <= best_step:
        return None
    place = first + start
    return Slope(place, likelihood - best_step, sums.of(first, place), sums.of(max(place, last - 7), last))
