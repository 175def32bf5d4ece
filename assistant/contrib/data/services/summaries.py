"""`summarise`: how many rows there are, and sums, averages and bounds of a column, by groups and periods."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Avg, Count, DateTimeField, Max, Min, Sum
from django.db.models.functions import TruncDay, TruncMonth, TruncQuarter, TruncWeek, TruncYear

from assistant.contrib.data.services.columns import Column
from assistant.contrib.data.services.plans import Plan
from assistant.contrib.data.services.reading import check_cost, reading
from assistant.contrib.data.services.rows import MAX_LABEL, narrowing_hint, shown_value
from assistant.contrib.data.services.selecting import selected, value_of
from assistant.contrib.data.services.visible_rows import lacks_permission, visible_rows
from assistant.toolkit import ToolContext, ToolError

MAX_GROUPS = 100
_MEASURES = {"sum": Sum, "average": Avg, "minimum": Min, "maximum": Max}
_PERIODS = {"day": TruncDay, "week": TruncWeek, "month": TruncMonth, "quarter": TruncQuarter, "year": TruncYear}


def summarise(plan: Plan, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
    """Return a figure of the rows that a call chooses, by groups if it names some.

    Raises:
        ToolError: the measure needs a column.
    """
    measure = arguments["measure"]
    columns = {column.name: column for column in plan.columns}
    of = columns.get(arguments.get("of") or "")
    if measure != "count" and of is None:
        raise ToolError(f'"of" must name the column of the {measure}.')
    names = list(dict.fromkeys(arguments.get("group_by") or ()))
    hint = narrowing_hint(plan)
    with reading(hint):
        rows = selected(visible_rows(plan, context), plan, arguments, context)
        figures: dict[str, Any] = {"figure_count": Count("pk")}
        if measure != "count" and of is not None:
            figures["figure"] = _MEASURES[measure](value_of(of, context))
        keys = {f"group_{number}": _group(name, columns, context) for number, name in enumerate(names)}
        if keys:
            is_by_time = any("." in name for name in names)
            largest = "figure_count" if measure == "count" else "figure"
            groups = rows.values(**keys).annotate(**figures)
            groups = groups.order_by(*keys) if is_by_time else groups.order_by(f"-{largest}", *keys)
            check_cost(groups, hint)
            found = list(groups[: MAX_GROUPS + 1])
        else:
            check_cost(rows.values("pk"), hint)
            found = [rows.aggregate(**figures)]
        is_empty = not any(row["figure_count"] for row in found)
        if is_empty and lacks_permission(plan, context):
            raise ToolError(f"The user lacks the permission to view {plan.many.replace('_', ' ')}.")
    return _answer(found, names, measure, of, context)


def _answer(
    found: list[dict[str, Any]], names: list[str], measure: str, of: Column | None, context: ToolContext
) -> dict[str, Any]:
    zone = ZoneInfo(context.tenant.timezone)

    def figures(row: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {"count": row["figure_count"]}
        if measure != "count":
            values[measure] = shown_figure(row["figure"], of)
        return values

    if not names:
        return figures(found[0])
    groups = [
        {name: _shown_group(row[f"group_{number}"], name, zone) for number, name in enumerate(names)} | figures(row)
        for row in found[:MAX_GROUPS]
    ]
    answer: dict[str, Any] = {"groups": groups}
    if len(found) > MAX_GROUPS:
        answer["more"] = f"Only the first {MAX_GROUPS} groups are shown. Narrow it."
    else:
        answer["count"] = sum(row["figure_count"] for row in found)
        if measure == "sum":
            answer["sum"] = shown_figure(sum(row["figure"] for row in found if row["figure"] is not None), of)
    return answer


def _group(name: str, columns: Mapping[str, Column], context: ToolContext) -> Any:
    column_name, _, period = name.partition(".")
    column = columns[column_name]
    value = value_of(column, context)
    if not period:
        return value
    # Days begin in the tenant's time zone.
    is_moment = isinstance(column.field, DateTimeField)
    zone = ZoneInfo(context.tenant.timezone) if is_moment and settings.USE_TZ else None
    return _PERIODS[period](value, tzinfo=zone)


def _shown_group(value: Any, name: str, zone: ZoneInfo) -> Any:
    period = name.partition(".")[2]
    if not period or value is None:
        return shown_value(value, zone, MAX_LABEL)
    day: dt.date = value.date() if isinstance(value, dt.datetime) else value
    if period == "quarter":
        return f"{day.year}-Q{(day.month + 2) // 3}"
    forms = {"month": "%Y-%m", "year": "%Y"}
    return day.strftime(forms[period]) if period in forms else day.isoformat()


def shown_figure(value: Any, of: Column | None) -> Any:
    """Return a figure as JSON has it: decimals as text, with the column's places and two more."""
    if isinstance(value, Decimal):
        places = getattr(getattr(of, "field", None), "decimal_places", 0) or 0
        return format(round(value, places + 2).normalize(), "f")
    return round(value, 6) if isinstance(value, float) else value
