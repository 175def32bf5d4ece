"""Reads the sums: by day, and by assistant, prompt version, model, tool or tenant. It never reads runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal, get_args

from django.db.models import Q, QuerySet, Sum
from django.utils.functional import cached_property

from assistant.contrib.insights.models import DaySum
from assistant.contrib.insights.services.day_sums import empty_sums
from assistant.contrib.insights.services.measures import SUMMED, Measure, Sums, is_step

By = Literal["assistant", "prompt", "model", "tool", "tenant"]
KINDS: tuple[By, ...] = get_args(By)
# Lines of a table.
LISTED = 50
_FIELDS: Mapping[By, tuple[str, ...]] = {
    "assistant": ("assistant_id", "assistant__name", "tenant__name"),
    "prompt": ("assistant_id", "prompt_number", "assistant__name"),
    "model": ("provider", "model"),
    "tool": ("tool",),
    "tenant": ("tenant_id", "tenant__name"),
}


@dataclass(frozen=True, slots=True)
class DayOfSums:
    """A day and the sums of it, and those of the day that lies a whole period before it."""

    day: date
    sums: Sums
    earlier: Sums


@dataclass(frozen=True)
class Period:
    """Days up to today, and as many before them.

    Attributes:
        last: the last day, included.
        days: how many days.
    """

    last: date
    days: int

    @cached_property
    def first(self) -> date:
        return self.last - timedelta(days=self.days - 1)

    @cached_property
    def earlier_first(self) -> date:
        return self.first - timedelta(days=self.days)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: the values of the fields that it is about, and the sums of now and of the period before."""

    key: Mapping[str, Any]
    sums: Sums
    earlier: Sums


def days_of(rows: QuerySet[DaySum], *, tool: str, period: Period) -> list[DayOfSums]:
    """Return each day of a period, in one query.

    Args:
        rows: the sums that the report is about.
        tool: only runs that called it; "" for all.
    """
    found = {
        row["day"]: row
        for row in rows.filter(tool=tool, day__gte=period.earlier_first, day__lte=period.last)
        .order_by()
        .values("day")
        .annotate(**{f"sum_{name}": Sum(name) for name in SUMMED})
    }
    return [
        DayOfSums(day, _plain(found.get(day)), _plain(found.get(day - timedelta(days=period.days))))
        for day in (period.first + timedelta(days=number) for number in range(period.days))
    ]


def _plain(row: Mapping[str, Any] | None, prefix: str = "sum_") -> Sums:
    return {name: row[prefix + name] or 0 for name in SUMMED} if row is not None else empty_sums()


def total(days: list[DayOfSums]) -> tuple[Sums, Sums]:
    """Return the sums of all days, and those of the period before."""
    now = empty_sums()
    earlier = empty_sums()
    for day in days:
        for name in SUMMED:
            now[name] += day.sums[name]
            earlier[name] += day.earlier[name]
    return now, earlier


def table_of(rows: QuerySet[DaySum], *, by: By, tool: str, period: Period) -> list[Line]:
    """Return the lines with the most runs, at most `LISTED`, in one query."""
    chosen = rows.exclude(tool="") if by == "tool" else rows.filter(tool=tool)
    is_now = Q(day__gte=period.first)
    found: Any = (
        chosen.filter(day__gte=period.earlier_first, day__lte=period.last)
        .order_by()
        .values(*_FIELDS[by])
        .annotate(
            **{f"now_{name}": Sum(name, filter=is_now, default=0) for name in SUMMED},
            **{f"earlier_{name}": Sum(name, filter=~is_now, default=0) for name in SUMMED},
        )
    )
    lines = found.filter(now_runs__gt=0).order_by("-now_runs", *_FIELDS[by])[:LISTED]
    return [
        Line({name: row[name] for name in _FIELDS[by]}, _plain(row, "now_"), _plain(row, "earlier_")) for row in lines
    ]


def is_worse(measure: Measure, sums: Sums, earlier: Sums) -> bool:
    """Return whether a share has gone up by more than a point and than chance explains, as far as more is worse."""
    runs = sums["runs"]
    earlier_runs = earlier["runs"]
    if not measure.is_warned or not runs or not earlier_runs:
        return False
    return is_step(sums[measure.of], runs, earlier[measure.of], earlier_runs, points=0.01, deviations=2)
