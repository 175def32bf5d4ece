"""Finds what became worse in the sums of a tenant or of a deployment, and where it shows; it never reads runs.

The queries do not grow with runs: one for the days of assistants and one for each finding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import TruncWeek
from django.utils.translation import gettext_lazy as _

from assistant.contrib.insights.models import DaySum
from assistant.contrib.insights.services.day_sums import SEARCH
from assistant.contrib.insights.services.measures import MEASURES, Measure
from assistant.contrib.insights.services.reports import Period
from assistant.contrib.insights.services.steps import Share, Slope, Step, deviations_of, steps_of

# Assistants whose days are looked at one by one: with more, those whose weeks differ most.
LOOKED_AT = 40
MAX_FINDINGS = 8
# Steps of different measures within so many days are one finding.
SAME_DAYS = 4
# Of the calls of tools, whose sums stand apart.
FAILED_CALLS = Measure(
    "failed-calls", _("Tool calls failed"), _("Calls of tools that failed or timed out"),
    "failed_calls", "calls", "percent", True,
)  # fmt: skip
# Documents matter to the runs that search them.
DISLIKED_SEARCHING = Measure(
    "disliked-searching", _("Disliked after a search"), _("Ratings “not helpful”, of runs that searched documents"),
    "thumbs_down", "runs", "percent", True,
)  # fmt: skip
# Each alone is seldom.
UNHAPPY = Measure(
    "unhappy",
    _("Signs of displeasure"),
    _("Disliked, asked again, edited or stopped"),
    "unhappy",
    "runs",
    "percent",
    True,
)
# One run can show several signs, so chance does more; and both are looked at besides what they are made of.
LEAST_BESIDE = 5.2
# What it is made of goes before it, unless it is so much clearer.
MADE_OF = 1.3
_AS_CLEAR = 0.9
_SIGNS = ("thumbs_down", "asked_again", "edited", "stopped")
WATCHED = (*(measure for measure in MEASURES if measure.is_warned), FAILED_CALLS, DISLIKED_SEARCHING, UNHAPPY)
# Whose runs a measure is of, if not all.
_OF: Mapping[str, Q] = {
    FAILED_CALLS.slug: ~Q(tool=""),
    DISLIKED_SEARCHING.slug: Q(tool=SEARCH),
    "nothing-found": Q(tool=SEARCH),
}
BY_SLUG: Mapping[str, Measure] = {measure.slug: measure for measure in WATCHED}
_OF_ALL = Q(tool="")
# Steps of several assistants of a tenant within so many days are one, if all together are so much clearer.
SAME_OF_TENANT = 7
CLEARER = 1.1
# By measure, of each day.
Series = dict[str, list[Share]]


@dataclass(frozen=True, slots=True)
class Slice:
    """Runs of one prompt version, model and language that called one tool ("": all), before a step and since it."""

    tool: str
    prompt_number: int
    provider: str
    model: str
    language: str
    before: Share
    since: Share
    refused: int


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """Something that became worse for an assistant, or for all of a tenant.

    Attributes:
        assistants: their ids.
        measures: what became worse, the clearest first, with the step of each.
        days: the days of the series of the steps, the oldest first.
        series: the shares of those days, of the clearest measure.
        slices: what the runs before and since are made of, by the clearest measure.
    """

    assistants: tuple[int, ...]
    measures: tuple[tuple[Measure, Step], ...]
    days: Sequence[date]
    series: Sequence[Share]
    slices: tuple[Slice, ...] = ()

    @property
    def measure(self) -> Measure:
        return self.measures[0][0]

    @property
    def step(self) -> Step:
        return self.measures[0][1]

    @property
    def slope(self) -> Slope | None:
        """The clearest slope of what became worse about as clearly as anything; None if steps explain it."""
        least = _AS_CLEAR * self.step.deviations
        slopes = [one.slope for _measure, one in self.measures if one.slope is not None and one.deviations >= least]
        return max(slopes, key=lambda one: one.gain, default=None)

    @property
    def day(self) -> date:
        """The first day that is worse."""
        return self.days[self.step.place]

    @property
    def last(self) -> date:
        """The last day that is compared."""
        return self.days[self.step.end - 1]

    @property
    def first_change(self) -> date:
        """The first day whose changes may be the cause."""
        return self.days[min(self.step.fits, default=self.step.place)] - timedelta(days=1)

    @property
    def last_change(self) -> date:
        """The last day whose changes may be the cause."""
        return self.days[max(self.step.fits, default=self.step.place)]

    def slices_of(self) -> list[Slice]:
        """Return the slices that add up to the runs, or the calls, that the clearest measure is of."""
        if self.measure is FAILED_CALLS:
            return [one for one in self.slices if one.tool]
        tool = "" if self.measure.slug not in _OF else SEARCH
        return [one for one in self.slices if one.tool == tool]

    def fit_of(self, day: date) -> float:
        """Return how well a change on a day explains the step, from 0 to 1; it shows on that day or on the next."""
        place = (day - self.days[0]).days
        return max(self.step.fits.get(place, 0.0), 0.9 * self.step.fits.get(place + 1, 0.0))


def find(rows: QuerySet[DaySum], *, period: Period, most: int = MAX_FINDINGS) -> list[Finding]:
    """Return what became worse, the newest first.

    Args:
        rows: the sums of the tenants and assistants that the report is about.
        most: so many findings, the clearest.
    """
    days = [period.first + timedelta(days=number) for number in range(period.days)]
    by_tenant = _series(rows, days)
    found = [finding for of_tenant in by_tenant.values() for finding in _of_tenant(of_tenant, days)]
    clearest = sorted(found, key=lambda one: (-one.step.deviations, one.assistants, one.day))[:most]
    sliced = [replace(one, slices=tuple(_slices(rows, one))) for one in clearest]
    return sorted(sliced, key=lambda one: (one.day, one.step.deviations), reverse=True)


def _of_tenant(series: Mapping[int, Series], days: Sequence[date]) -> list[Finding]:
    """Return what became worse for assistants of a tenant, or for all where that is clearer."""
    found = [one for pk in series for one in _of_assistants((pk,), series[pk], days)]
    if len(series) < 2:
        return found
    together = {
        slug: [_together(shares) for shares in zip(*(one[slug] for one in series.values()), strict=True)]
        for slug in BY_SLUG
    }
    for of_all in _of_assistants(tuple(series), together, days):
        same = [one for one in found if abs(one.step.place - of_all.step.place) <= SAME_OF_TENANT]
        if of_all.step.deviations > CLEARER * max((one.step.deviations for one in same), default=0.0):
            found = [*(one for one in found if one not in same), of_all]
    return found


def _of_assistants(pks: tuple[int, ...], series: Series, days: Sequence[date]) -> Iterator[Finding]:
    every = [(BY_SLUG[slug], step) for slug, shares in series.items() for step in steps_of(shares)]
    steps = [one for one in every if one[0] not in (UNHAPPY, DISLIKED_SEARCHING) or one[1].deviations >= LEAST_BESIDE]
    steps.sort(key=lambda one: -one[1].deviations / (MADE_OF if one[0] is UNHAPPY else 1.0))
    while steps:
        lead = steps[0][1]
        same = [one for one in steps if abs(one[1].place - lead.place) <= SAME_DAYS or one[1] is lead]
        steps = [one for one in steps if one not in same]
        yield Finding(pks, tuple(same), days, series[same[0][0].slug])


def _series(rows: QuerySet[DaySum], days: Sequence[date]) -> dict[int, dict[int, Series]]:
    """Return the shares of each day by tenant and assistant."""
    chosen = rows.filter(day__gte=days[0], day__lte=days[-1])
    weeks: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in _sums(chosen.annotate(week=TruncWeek("day")), "week"):
        weeks[row["assistant_id"]].append(row)
    worst = sorted(weeks, key=lambda pk: (-_unevenness(weeks[pk]), pk))[:LOOKED_AT]
    places = {day: place for place, day in enumerate(days)}
    found: dict[int, dict[int, Series]] = defaultdict(dict)
    for row in _sums(chosen.filter(assistant__in=worst), "day") if worst else ():
        of_tenant = found[row["tenant_id"]]
        if row["assistant_id"] not in of_tenant:
            of_tenant[row["assistant_id"]] = {slug: [Share(0, 0)] * len(days) for slug in BY_SLUG}
        for slug, measure in BY_SLUG.items():
            of_tenant[row["assistant_id"]][slug][places[row["day"]]] = _share(row, measure)
    return found


def _sums(rows: QuerySet[DaySum], by: str) -> Any:
    """Return what `_share` takes, by assistant and day or week."""
    sums: dict[str, Any] = {}
    for one in WATCHED:
        of = _OF.get(one.slug, _OF_ALL)
        sums[f"bad_{one.slug}"] = Sum(counted(one), filter=of, default=0)
        sums[f"all_{one.slug}"] = Sum(one.by, filter=of, default=0)
    return rows.order_by().values("tenant_id", "assistant_id", by).annotate(**sums).order_by("assistant_id", by)


def _share(row: Mapping[str, Any], measure: Measure) -> Share:
    """Return a share; the runs are as many as the sum has, where a rating came without its run."""
    bad = row[f"bad_{measure.slug}"]
    return Share(bad, max(bad, row[f"all_{measure.slug}"]))


def counted(measure: Measure) -> Any:
    """Return what is added up of a measure: a sum of a day, or several."""
    if measure is not UNHAPPY:
        return F(measure.of)
    first, *others = (F(name) for name in _SIGNS)
    return sum(others, start=first)


def _unevenness(weeks: Sequence[Mapping[str, Any]]) -> float:
    """Return the largest step from the weeks before to a week, or to the rest, in deviations."""
    most = 0.0
    for measure in WATCHED:
        shares = [_share(row, measure) for row in weeks]
        for place in range(1, len(shares)):
            before = _together(shares[max(0, place - 4) : place])
            for since in (shares[place], _together(shares[place : place + 4])):
                most = max(most, deviations_of(since, before))
    return most


def _together(shares: Sequence[Share]) -> Share:
    return Share(sum(one.bad for one in shares), sum(one.runs for one in shares))


def _slices(rows: QuerySet[DaySum], finding: Finding) -> Iterator[Slice]:
    """Yield what the runs of a finding are made of, in one query."""
    measure = finding.measure
    keys = ("tool", "prompt_number", "provider", "model", "language")
    is_since = Q(day__gte=finding.day)
    found = (
        rows.filter(assistant__in=finding.assistants, day__gte=finding.days[finding.step.past], day__lte=finding.last)
        .order_by()
        .values(*keys)
        .annotate(
            before_bad=Sum(counted(measure), filter=~is_since, default=0),
            before_all=Sum(measure.by, filter=~is_since, default=0),
            since_bad=Sum(counted(measure), filter=is_since, default=0),
            since_all=Sum(measure.by, filter=is_since, default=0),
            since_refused=Sum("refused", filter=is_since, default=0),
        )
        .order_by(*keys)
    )
    for row in found:
        yield Slice(
            **{key: row[key] for key in keys},
            before=Share(row["before_bad"], max(row["before_bad"], row["before_all"])),
            since=Share(row["since_bad"], max(row["since_bad"], row["since_all"])),
            refused=row["since_refused"],
        )
