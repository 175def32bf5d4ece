"""Did it help: a group's cases and a figure of the daily sums, in the week before a change and in the week since."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from django.apps import apps
from django.db.models import Count, Q, Sum

from assistant.contrib.improvements.models import ProblemCase, ProblemGroup, Signature

WEEK = 7
# Standard deviations of chance from which a difference counts.
DEVIATIONS = 2.0
Verdict = Literal["early", "better", "same", "worse"]
# By the signature: what is divided by what in the daily sums, and whether a tool has sums of its own for it.
_MEASURES: Mapping[str, tuple[str, str, bool]] = {
    Signature.TOOL_ERROR: ("failed_calls", "calls", True),
    Signature.MISREAD: ("failed_calls", "calls", True),
    Signature.REFUSAL: ("refused", "runs", True),
    Signature.KNOWLEDGE: ("nothing_found", "runs", False),
    Signature.STYLE: ("thumbs_down", "runs", False),
    Signature.LOOP: ("failed", "runs", False),
    Signature.CUT: ("cut", "runs", False),
    Signature.LATENCY: ("whole_ms", "answers", True),
}


@dataclass(frozen=True, slots=True)
class Week:
    """A week, or what has passed of one.

    Attributes:
        days: of it that have passed.
        cases: of the group.
        runs: of the assistant; 0 where daily sums are not made.
        value: the figure of the sums, as a part of 1 or in milliseconds; None for none.
    """

    days: int
    cases: int
    runs: int
    value: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a change.

    Attributes:
        ready_on: the day from which a whole week has passed.
        measure: the field of the daily sums that the figure is of.
    """

    day: date
    before: Week
    since: Week
    ready_on: date
    measure: str
    verdict: Verdict


def outcome_of(group: ProblemGroup, *, now: datetime) -> Outcome | None:
    """Return what came of the change of a group; None while nothing was changed. Three queries.

    The day of the change itself is on neither side.
    """
    if group.in_force_at is None:
        return None
    day = group.in_force_at.astimezone(UTC).date()
    today = now.astimezone(UTC).date()
    first = day - timedelta(days=WEEK)
    last = min(day + timedelta(days=WEEK), today)
    counts = _cases(group, first, day, last)
    sums = _sums(group, first, day, last)
    before = _week(WEEK, counts["before"], sums, "before")
    since = _week(max(0, (last - day).days), counts["since"], sums, "since")
    ready_on = day + timedelta(days=WEEK + 1)
    is_ready = today >= ready_on
    verdict = _verdict(before, since) if is_ready else "early"
    return Outcome(day, before, since, ready_on, _MEASURES[group.signature][0], verdict)


def _cases(group: ProblemGroup, first: date, day: date, last: date) -> dict[str, int]:
    rows = ProblemCase.objects.filter(group=group, tenant=group.tenant_id, at__gte=_midnight(first))
    after = _midnight(day + timedelta(days=1))
    return rows.aggregate(
        before=Count("pk", filter=Q(at__lt=_midnight(day))),
        since=Count("pk", filter=Q(at__gte=after, at__lt=_midnight(last + timedelta(days=1)))),
    )


def _sums(group: ProblemGroup, first: date, day: date, last: date) -> dict[str, float]:
    """Return the sums of both weeks from the app of quality; nothing where it is not installed."""
    if not apps.is_installed("assistant.contrib.insights"):
        return {}
    of, by, is_of_tool = _MEASURES[group.signature]
    rows = apps.get_model("assistant_insights", "DaySum").objects.filter(
        tenant=group.tenant_id, assistant=group.assistant_id, day__gte=first, day__lte=last
    )
    is_before = Q(day__lt=day)
    is_since = Q(day__gt=day)
    of_all = rows.filter(tool="", tenant=group.tenant_id)
    found = of_all.aggregate(
        before_runs=Sum("runs", filter=is_before, default=0), since_runs=Sum("runs", filter=is_since, default=0)
    )
    own = rows.filter(tool=group.subject if is_of_tool else "", tenant=group.tenant_id)
    figures = own.aggregate(
        before_of=Sum(of, filter=is_before, default=0),
        before_by=Sum(by, filter=is_before, default=0),
        since_of=Sum(of, filter=is_since, default=0),
        since_by=Sum(by, filter=is_since, default=0),
    )
    return {**found, **figures}


def _week(days: int, cases: int, sums: Mapping[str, float], name: str) -> Week:
    divided_by = sums.get(f"{name}_by", 0)
    value = sums[f"{name}_of"] / divided_by if divided_by else None
    return Week(days, cases, int(sums.get(f"{name}_runs", 0)), value)


def _verdict(before: Week, since: Week) -> Verdict:
    """Compare the cases of both weeks: by their share of the runs, or by their number where runs are not counted."""
    if before.runs and since.runs:
        pooled = (before.cases + since.cases + 1) / (before.runs + since.runs + 2)
        deviation = math.sqrt(pooled * (1 - min(pooled, 0.99)) * (1 / before.runs + 1 / since.runs))
        difference = (since.cases / since.runs - before.cases / before.runs) / deviation
    else:
        difference = (since.cases - before.cases) / math.sqrt(max(1, since.cases + before.cases))
    if difference <= -DEVIATIONS:
        return "better"
    return "worse" if difference >= DEVIATIONS else "same"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
