"""What was spent in a month: sums of usage rows, in total and by one of `KINDS`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, Exists, F, OuterRef, Q, Sum, Value
from django.db.models.functions import Coalesce, TruncDate

from assistant.contrib.panel.reports.months import Month
from assistant.contrib.panel.reports.spend_scope import By, Part, SpendScope, parts_of, parts_since
from assistant.core.values.pricing import MILLIONTHS
from assistant.models import ToolCall, UsageEntry

KINDS: tuple[By, ...] = ("tenant", "person", "assistant", "tool", "model", "purpose", "day")
# Lines of a page; a file has all of them.
LISTED = 100
# The forecast continues at the average of these days.
FORECAST_DAYS = 7
_COLUMNS: Mapping[str, str] = {
    "input_sum": "input_tokens",
    "output_sum": "output_tokens",
    "cached_sum": "cached_input_tokens",
    "written_sum": "cache_write_tokens",
    "cost_sum": "cost",
}
_NUMBERS = ("runs", *_COLUMNS)
_TESTS = Sum("cost", filter=Q(is_test=True), default=0)
_UNPRICED = Sum(F("input_tokens") + F("output_tokens"), filter=Q(cost=0), default=0)


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
    """Return the sums of all rows."""
    found: Counter[str] = Counter()
    for part in parts_of(scope):
        of_total = _OF_TOTAL_OF_SUMS if part.is_summed else _OF_TOTAL
        found.update(part.rows.aggregate(**_sums(part, scope), **of_total))
    return _line(None, "", "", found)


def spend_days(scope: SpendScope) -> list[Line]:
    """Return each day of the month, also the narrowed day's neighbours."""
    return _days(replace(scope, day=None))


def _days(scope: SpendScope) -> list[Line]:
    found: dict[date, Counter[str]] = {}
    for part in parts_of(scope):
        on = F("day") if part.is_summed else TruncDate("created_at", tzinfo=UTC)
        for row in part.rows.values(on=on).annotate(**_sums(part, scope, "day")):
            _add(found.setdefault(row["on"], Counter()), row)
    days = [day for day in scope.month.days if scope.day in (None, day)]
    return [_line(day, day.isoformat(), "", found.get(day, {})) for day in days]


def spend_table(scope: SpendScope, by: By, *, total: Line, listed: int | None = LISTED) -> Table:
    """Return the sums by one of `KINDS`.

    A run that has called several tools counts for each of them, so lines of tools can exceed the total.

    Args:
        total: of the same scope, from which the sum of what is not listed follows.
        listed: the most lines; None for all.
    """
    if by == "day":
        return Table(_days(scope), None)
    keys, names = _keys(by)
    found: dict[tuple[Any, ...], Counter[str]] = {}
    for part in parts_of(scope, by):
        for row in _rows_by(part, scope, by):
            _add(found.setdefault(tuple(row[key] for key in keys), Counter()), row)
    rows = [{**dict(zip(keys, values, strict=True)), **counts} for values, counts in found.items()]
    # The rows with the highest cost; names break ties, so that the order is the same each time.
    rows.sort(key=lambda row: (-row["cost_sum"], *((row[name] is None, row[name] or "") for name in names)))
    lines = [_named(by, row) for row in rows[:listed]]
    has_more = listed is not None and len(rows) > listed
    return Table(lines, _rest(total, lines) if has_more and by != "tool" else None)


def _sums(part: Part, scope: SpendScope, by: By | None = None) -> dict[str, Any]:
    """Return the sums of a part, as they are annotated or aggregated."""
    numbers = {name: Sum(column, default=0) for name, column in _COLUMNS.items()}
    same = _same(scope, by)
    if part.is_summed:
        column = "_".join(("runs", "day" if "day" in same else "month", *(one for one in _MODELS if one in same)))
        return {"runs": Sum(column, default=0), **numbers}
    counted = Q(is_test=False)
    if part.earlier is not None and "day" not in same:
        columns = ("run", "tenant", *(("provider", "model") if "model" in same else ()))
        columns += ("purpose",) if "purpose" in same else ()
        counted = counted & Q(~Exists(part.earlier.filter(**{column: OuterRef(column) for column in columns})))
    return {"runs": Count("run", distinct=True, filter=counted), **numbers}


_MODELS = ("model", "purpose")
_OF_TOTAL = {"unpriced": _UNPRICED, "tests": _TESTS}
_OF_TOTAL_OF_SUMS = {"unpriced": Sum("unpriced_tokens", default=0), "tests": Sum("test_cost", default=0)}


def _same(scope: SpendScope, by: By | None) -> set[str]:
    """Return in what the rows of a line are the same, of that in which those of a run may differ."""
    given = {"day": scope.day, "model": scope.model, "purpose": scope.purpose}
    return {name for name, value in given.items() if value is not None or name == by}


def _keys(by: By) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of a table's lines, and those of which the values break ties."""
    if by == "tenant":
        return ("tenant_id", "tenant__name", "tenant__slug"), ("tenant__slug",)
    if by == "person":
        return ("user_id", "user_name"), ("user_name", "user_id")
    if by == "assistant":
        names = "assistant__name", "assistant__slug", "assistant__tenant__slug"
        return ("assistant_id", *names), (*names[2:], "assistant__slug")
    if by == "model":
        return ("provider", "model"), ("provider", "model")
    return (("purpose",), ("purpose",)) if by == "purpose" else (("tool_name",), ("tool_name",))


def _rows_by(part: Part, scope: SpendScope, by: By) -> Any:
    """Return the sums of a part, by the columns of a table's lines."""
    rows = part.rows
    sums = _sums(part, scope, by)
    if by == "person":
        return rows.values("user_id", user_name=F(f"user__{get_user_model().USERNAME_FIELD}")).annotate(**sums)
    if by != "tool":
        return rows.values(*_keys(by)[0]).annotate(**sums)
    if part.is_summed:
        by_tools = rows.values("tools").annotate(**sums)
        return [{**row, "tool_name": name} for row in by_tools for name in json.loads(row["tools"]) or [""]]
    # A run's rows once for each tool, however often it was called: at the first of its calls.
    of_run = ToolCall.objects.filter(run=OuterRef("run"), tenant=OuterRef("tenant"))
    earlier = of_run.filter(name=OuterRef("called"), pk__lt=OuterRef("call_id"))
    called = rows.annotate(called=F("run__tool_calls__name"), call_id=F("run__tool_calls__pk"))
    first = called.filter(Q(call_id=None) | ~Exists(earlier))
    return first.values(tool_name=Coalesce("called", Value(""))).annotate(**sums)


def _add(found: Counter[str], row: Mapping[str, Any]) -> None:
    found.update({name: int(row[name] or 0) for name in _NUMBERS})


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
    numbers = [int(sums.get(column) or 0) for column in (*_NUMBERS, "unpriced", "tests")]
    return Line(key, name, belongs_to, *numbers)


def _rest(total: Line, lines: Sequence[Line]) -> Line:
    columns = ("runs", "input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "millionths")
    # A run that several of the lines paid for is counted in each of them.
    left = (max(0, getattr(total, name) - sum(getattr(line, name) for line in lines)) for name in columns)
    return Line(None, "", "", *left)


def forecast(scope: SpendScope, *, spent: float, now: datetime) -> float | None:
    """Return what the month will have cost at its end; None unless it is the running month.

    That is what was spent so far, and until the end as much a day as on average in the last `FORECAST_DAYS` days, or
    since the first use in them, but at least one day.
    """
    if scope.month != Month.of(now):
        return None
    since = now - timedelta(days=FORECAST_DAYS)
    used = scope.entries_between(scope.tenants, since, None)
    began = used.order_by("created_at").values_list("created_at", flat=True).first()
    if began is None:
        return spent
    recent = sum(
        part.rows.aggregate(cost=Sum("cost", default=0))["cost"] for part in parts_since(scope, since, now=now)
    )
    cost, days = float(recent) / MILLIONTHS, max(1.0, (now - began) / timedelta(days=1))
    return spent + cost / days * ((scope.month.end - now) / timedelta(days=1))
