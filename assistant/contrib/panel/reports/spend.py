"""What was spent in a month: sums of usage rows, in total and by one of `KINDS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from django.contrib.auth import get_user_model
from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from assistant.contrib.panel.reports.months import Month
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.core.values.pricing import MILLIONTHS
from assistant.models import ToolCall, UsageEntry
from assistant.toolkit.context import UserId

By = Literal["tenant", "person", "assistant", "tool", "model", "purpose", "day"]
KINDS: tuple[By, ...] = ("tenant", "person", "assistant", "tool", "model", "purpose", "day")
# Lines of a page; a file has all of them.
LISTED = 100
# The forecast continues at the average of these days.
FORECAST_DAYS = 7
_SUMS: Mapping[str, Any] = {
    "runs": Count("run", distinct=True, filter=Q(is_test=False)),
    "input_sum": Sum("input_tokens", default=0),
    "output_sum": Sum("output_tokens", default=0),
    "cached_sum": Sum("cached_input_tokens", default=0),
    "written_sum": Sum("cache_write_tokens", default=0),
    "cost_sum": Sum("cost", default=0),
}
_TESTS = Sum("cost", filter=Q(is_test=True), default=0)
_UNPRICED = Sum(F("input_tokens") + F("output_tokens"), filter=Q(cost=0), default=0)


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

    def entries(self, *, whole_month: bool = False) -> QuerySet[UsageEntry]:
        """Return the rows; with `whole_month` those of the other days too."""
        begin, end = self.month.begin, self.month.end
        if self.day is not None and not whole_month:
            begin = datetime.combine(self.day, time.min, UTC)
            end = begin + timedelta(days=1)
        return self._narrowed(self.tenants.rows(UsageEntry.objects.filter(created_at__gte=begin, created_at__lt=end)))

    def since(self, moment: datetime) -> QuerySet[UsageEntry]:
        """Return the rows of any month from `moment` on, narrowed as the report is, but not to a day."""
        return self._narrowed(self.tenants.rows(UsageEntry.objects.filter(created_at__gte=moment)))

    def _narrowed(self, rows: QuerySet[UsageEntry]) -> QuerySet[UsageEntry]:
        rows = rows.order_by()
        if self.person is not None:
            rows = rows.filter(user_id=self.person)
        if self.assistant is not None:
            rows = rows.filter(assistant_id=self.assistant)
        if self.model is not None:
            rows = rows.filter(provider=self.model[0], model=self.model[1])
        if self.purpose is not None:
            rows = rows.filter(purpose=self.purpose)
        if self.tool is not None:
            calls = ToolCall.objects.filter(run=OuterRef("run"), tenant=OuterRef("tenant"))
            rows = rows.filter(Exists(calls.filter(name=self.tool)) if self.tool else ~Exists(calls))
        return rows


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table: what it is about, the runs, their tokens, and their cost in millionths.

    `key` identifies it: a primary key, the name of a tool, a date, or the names of a provider and a model. `belongs_to`
    is the tenant of an assistant or the provider of a model. Tests of prompts are no runs here. Of a total only:
    `unpriced_tokens` cost nothing, since no price was known when they were used; `test_millionths` were spent on tests.
    """

    key: Any
    name: str
    belongs_to: str
    runs: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    millionths: int
    unpriced_tokens: int = 0
    test_millionths: int = 0

    @property
    def cost(self) -> float:
        return self.millionths / MILLIONTHS

    @property
    def test_cost(self) -> float:
        return self.test_millionths / MILLIONTHS


@dataclass(frozen=True, slots=True)
class Table:
    """The lines of a table, those that cost most first, and all that are not listed as one, if there are more."""

    lines: Sequence[Line]
    others: Line | None


def spend_total(scope: SpendScope) -> Line:
    """Return the sums of all rows, in one query."""
    return _line(None, "", "", scope.entries().aggregate(**_SUMS, unpriced=_UNPRICED, tests=_TESTS))


def spend_days(scope: SpendScope) -> list[Line]:
    """Return each day of the month, also the narrowed day's neighbours, in one query."""
    return _days(scope, whole_month=True)


def _days(scope: SpendScope, *, whole_month: bool = False) -> list[Line]:
    rows = scope.entries(whole_month=whole_month).values(on=TruncDate("created_at", tzinfo=UTC)).annotate(**_SUMS)
    found = {row["on"]: row for row in rows}
    days = [day for day in scope.month.days if whole_month or scope.day in (None, day)]
    return [_line(day, day.isoformat(), "", found.get(day, {})) for day in days]


def spend_table(scope: SpendScope, by: By, *, total: Line, listed: int | None = LISTED) -> Table:
    """Return the sums by one of `KINDS`, in one query.

    A run that has called several tools counts for each of them, so lines of tools can exceed the total.

    Args:
        total: of the same scope, from which the sum of what is not listed follows.
        listed: the most lines; None for all.
    """
    if by == "day":
        return Table(_days(scope), None)
    rows, names = _grouped(scope, by)
    # The rows with the highest cost; names break ties, so that the order is the same each time.
    found: Any = rows.annotate(**_SUMS).order_by("-cost_sum", *names)
    found = list(found if listed is None else found[: listed + 1])
    lines = [_named(by, row) for row in found[:listed]]
    has_more = listed is not None and len(found) > listed
    return Table(lines, _rest(total, lines) if has_more and by != "tool" else None)


def _grouped(scope: SpendScope, by: By) -> tuple[QuerySet[Any, Any], tuple[str, ...]]:
    rows = scope.entries()
    if by == "tenant":
        return rows.values("tenant_id", "tenant__name", "tenant__slug"), ("tenant__slug",)
    if by == "person":
        name = f"user__{get_user_model().USERNAME_FIELD}"
        return rows.values("user_id", user_name=F(name)), ("user_name", "user_id")
    if by == "assistant":
        names = "assistant__name", "assistant__slug", "assistant__tenant__slug"
        return rows.values("assistant_id", *names), (*names[2:], "assistant__slug")
    if by == "model":
        return rows.values("provider", "model"), ("provider", "model")
    if by == "purpose":
        return rows.values("purpose"), ("purpose",)
    # A run's rows once for each tool, however often it was called: at the first of its calls.
    of_run = ToolCall.objects.filter(run=OuterRef("run"), tenant=OuterRef("tenant"))
    earlier = of_run.filter(name=OuterRef("tool_name"), pk__lt=OuterRef("call_id"))
    called = rows.annotate(tool_name=F("run__tool_calls__name"), call_id=F("run__tool_calls__pk"))
    return called.filter(Q(call_id=None) | ~Exists(earlier)).values("tool_name"), ("tool_name",)


def _named(by: By, row: Mapping[str, Any]) -> Line:
    if by == "tenant":
        return _line(row["tenant_id"], row["tenant__name"], row["tenant__slug"], row)
    if by == "person":
        return _line(row["user_id"], row["user_name"] or "", "", row)
    if by == "assistant":
        slugs = row["assistant__tenant__slug"], row["assistant__slug"]
        return _line(row["assistant_id"], row["assistant__name"] or "", "/".join(filter(None, slugs)), row)
    if by == "model":
        return _line((row["provider"], row["model"]), row["model"], row["provider"], row)
    if by == "purpose":
        return _line(row["purpose"], str(dict(UsageEntry.Purpose.choices)[row["purpose"]]), "", row)
    return _line(row["tool_name"] or "", row["tool_name"] or "", "", row)


def _line(key: Any, name: str, belongs_to: str, sums: Mapping[str, Any]) -> Line:
    numbers = [int(sums.get(column) or 0) for column in (*_SUMS, "unpriced", "tests")]
    return Line(key, name, belongs_to, *numbers)


def _rest(total: Line, lines: Sequence[Line]) -> Line:
    columns = ("runs", "input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "millionths")
    # A run that several of the lines paid for is counted in each of them.
    left = (max(0, getattr(total, name) - sum(getattr(line, name) for line in lines)) for name in columns)
    return Line(None, "", "", *left)


def forecast(scope: SpendScope, *, spent: float, now: datetime) -> float | None:
    """Return what the month will have cost at its end; None unless it is the running month. One query.

    That is what was spent so far, and until the end as much a day as on average in the last `FORECAST_DAYS` days, or
    since the first use in them, but at least one day.
    """
    if scope.month != Month.of(now):
        return None
    recent: dict[str, Any] = scope.since(now - timedelta(days=FORECAST_DAYS)).aggregate(
        cost=Sum("cost", default=0), at=Min("created_at")
    )
    began: datetime | None = recent["at"]
    if began is None:
        return spent
    cost, days = float(recent["cost"]) / MILLIONTHS, max(1.0, (now - began) / timedelta(days=1))
    return spent + cost / days * ((scope.month.end - now) / timedelta(days=1))
