"""What a report of spend is narrowed to, and where its figures are: in sums of days that are over, and in rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from assistant.contrib.panel.models import SpendSum
from assistant.contrib.panel.reports.months import Month
from assistant.contrib.panel.reports.summed_days import summed_days
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import ToolCall, UsageEntry
from assistant.toolkit.context import UserId

By = Literal["tenant", "person", "assistant", "tool", "model", "purpose", "day"]


def midnight(day: date) -> datetime:
    """Return the beginning of a day in UTC."""
    return datetime.combine(day, time.min, UTC)


@dataclass(frozen=True, slots=True)
class SpendScope:
    """The usage rows that a report sums: those of a month, of some tenants, and of all that is not None.

    `model` is the names of a provider and a model. `tool` is that of a tool that the run has called, "" for none.
    """

    month: Month
    tenants: TenantFilter
    person: UserId | None = None
    assistant: int | None = None
    tool: str | None = None
    model: tuple[str, str] | None = None
    purpose: str | None = None
    day: date | None = None

    @property
    def before(self) -> SpendScope:
        """The same of the month before, with all of its days."""
        return replace(self, month=self.month.previous, day=None)

    def entries(self) -> QuerySet[UsageEntry]:
        """Return the rows of usage."""
        first, last = self.days
        return self.entries_between(self.tenants, midnight(first), midnight(last + timedelta(days=1)))

    def entries_between(self, tenants: TenantFilter, begin: datetime, end: datetime | None) -> QuerySet[UsageEntry]:
        """Return the rows of usage of some of the tenants between two moments of any month; the second may be open."""
        until = {} if end is None else {"created_at__lt": end}
        rows = self.narrowed(tenants.rows(UsageEntry.objects.filter(created_at__gte=begin, **until)))
        if self.tool is not None:
            calls = ToolCall.objects.filter(run=OuterRef("run"), tenant=OuterRef("tenant"))
            rows = rows.filter(Exists(calls.filter(name=self.tool)) if self.tool else ~Exists(calls))
        return rows

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day."""
        if self.day is not None:
            return self.day, self.day
        return self.month.first, self.month.days[-1]

    def narrowed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return rows of usage, or sums of them, narrowed to all but tenants, days and the tool."""
        rows = rows.order_by()
        if self.person is not None:
            rows = rows.filter(user_id=self.person)
        if self.assistant is not None:
            rows = rows.filter(assistant_id=self.assistant)
        if self.model is not None:
            rows = rows.filter(provider=self.model[0], model=self.model[1])
        if self.purpose is not None:
            rows = rows.filter(purpose=self.purpose)
        return rows


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the rows that a report sums.

    Attributes:
        rows: of `SpendSum` if `is_summed`, else of `UsageEntry`.
        earlier: rows of another part that may count runs of these rows already; None if there are none.
    """

    rows: QuerySet[Any]
    is_summed: bool = False
    earlier: QuerySet[UsageEntry] | None = None


def parts_of(scope: SpendScope, by: By | None = None) -> list[Part]:
    """Return the parts whose sums are those of a report: sums of days that are over, and rows of the other days."""
    first, last = scope.days
    begin, end = midnight(first), midnight(last + timedelta(days=1))
    today = timezone.now().astimezone(UTC).date()
    split = _split(scope, by)
    summed = split and summed_days(tenants=scope.tenants, zone="UTC", first=first, last=last, today=today)
    if not summed:
        return [Part(scope.entries())]
    rest = midnight(summed.through + timedelta(days=1))
    parts = [Part(_sums_between(scope, summed.tenants, first, summed.through, split), is_summed=True)]
    if summed.others is not None:
        parts.append(Part(scope.entries_between(summed.others, begin, rest)))
    if rest < end:
        rows = scope.entries_between(scope.tenants, rest, end)
        parts.append(Part(rows, earlier=_earlier(scope.tenants, rows, begin, rest)))
    return parts


def _earlier(
    tenants: TenantFilter, rows: QuerySet[UsageEntry], begin: datetime, rest: datetime
) -> QuerySet[UsageEntry] | None:
    """Return the rows of runs that have begun before `rest`, from `begin` until then."""
    # Named one by one: they are few, and of a subquery the database reads all rows of the month.
    carried: Any = list(rows.filter(run__started_at__lt=rest).values_list("run", flat=True).distinct())
    found = tenants.rows(UsageEntry.objects.filter(run__in=carried, created_at__gte=begin, created_at__lt=rest))
    return found.filter(is_test=False) if carried else None


def parts_since(scope: SpendScope, since: datetime, *, now: datetime) -> list[Part]:
    """Return the parts whose sums are those of the rows from a moment on, of any month; not of `runs`."""
    today = now.astimezone(UTC).date()
    first = since.astimezone(UTC).date() + timedelta(days=1)
    split = _split(scope, None)
    summed = split and summed_days(tenants=scope.tenants, zone="UTC", first=first, last=today, today=today)
    if not summed:
        return [Part(scope.entries_between(scope.tenants, since, None))]
    whole = midnight(first)
    rest = midnight(summed.through + timedelta(days=1))
    parts = [Part(_sums_between(scope, summed.tenants, first, summed.through, split), is_summed=True)]
    if summed.others is not None:
        parts.append(Part(scope.entries_between(summed.others, whole, rest)))
    return [
        *parts,
        Part(scope.entries_between(scope.tenants, since, whole)),
        Part(scope.entries_between(scope.tenants, rest, None)),
    ]


def _sums_between(scope: SpendScope, tenants: TenantFilter, first: date, last: date, split: str) -> QuerySet[Any]:
    """Return the sums of some of the tenants for days of any month, the last one included, by a `SpendSum.Split`."""
    rows = tenants.rows(SpendSum.objects.filter(split=split, day__gte=first, day__lte=last))
    rows = scope.narrowed(rows)
    if scope.tool is None:
        return rows
    named = [text for text in rows.values_list("tools", flat=True).distinct() if _has_called(text, scope.tool)]
    return rows.filter(tools__in=named)


def _has_called(text: str, tool: str) -> bool:
    names = json.loads(text)
    return tool in names if tool else not names


def _split(scope: SpendScope, by: By | None) -> str:
    asks_tools = scope.tool is not None or by == "tool"
    if scope.person is None and by != "person":
        return str(SpendSum.Split.TOOL if asks_tools else SpendSum.Split.MODEL)
    asks_models = scope.model is not None or scope.purpose is not None or by in ("model", "purpose")
    return "" if asks_tools or asks_models else str(SpendSum.Split.PERSON)
