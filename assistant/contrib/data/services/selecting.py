"""The rows that a call chooses: the conditions of `where`, the words of `search`, and values of related rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import Case, DecimalField, F, IntegerField, Q, When
from django.utils.dateparse import parse_date, parse_datetime

from assistant.contrib.data.services.columns import Column, without_relations
from assistant.contrib.data.services.plans import Plan, plans_over
from assistant.contrib.data.services.tenant_conditions import of_tenant
from assistant.contrib.data.services.visible_rows import Rows, tenants_rows, visible_rows
from assistant.toolkit import ToolContext, ToolError

T = TypeVar("T")
# Days that time zones and databases can move.
_FIRST_DAY = dt.date(1, 1, 3)
_LAST_DAY = dt.date(9999, 12, 28)
# Words of a search.
MAX_WORDS = 8


class NotAKey(Exception):
    """A value can be no key of a row, so no row has it."""


def selected(rows: Rows, plan: Plan, arguments: Mapping[str, Any], context: ToolContext) -> Rows:
    """Return the rows that meet a call's conditions.

    Raises:
        ToolError: a date cannot be read.
    """
    columns = {column.name: column for column in plan.filters}
    for name, conditions in (arguments.get("where") or {}).items():
        column = columns[name]
        try:
            condition = _condition(column, conditions, context)
        except NotAKey:
            return rows.none()
        if column.is_many:
            rows = rows.filter(pk__in=tenants_rows(plan, context).filter(condition).values("pk"))
        else:
            rows = rows.filter(condition)
    for word in (arguments.get("search") or "").replace("\0", "").split()[:MAX_WORDS]:
        found = Q()
        for column in plan.search:
            found |= Q(**{f"{column.name}__icontains": word}) & own_relations(column, context)
        rows = rows.filter(found)
    return rows


def own_relations(column: Column, context: ToolContext) -> Q:
    """Return the condition that the member may see the related rows on the way to a column.

    They are the tenant's; and where their model is exposed too, the project's rules for it hold.
    """
    condition = Q()
    for relation in column.relations:
        condition &= of_tenant(relation.model, context, f"{relation.lookup}__")
        for plan in plans_over(relation.model):
            condition &= Q(**{f"{relation.lookup}__in": visible_rows(plan, context).values("pk")})
    return condition


def value_of(column: Column, context: ToolContext) -> Any:
    """Return the expression of a column's value; of another tenant's related row it is empty."""
    condition = own_relations(column, context)
    return F(column.name) if not condition else Case(When(condition, then=F(column.name)))


def _condition(column: Column, conditions: Mapping[str, Any], context: ToolContext) -> Q:
    own = own_relations(column, context)
    found = Q()
    for operator, value in conditions.items():
        if operator == "empty":
            is_empty = _is_empty(column)
            found &= (is_empty | ~own if own else is_empty) if value else ~is_empty & own
        else:
            found &= _comparison(column, operator, value, context) & own
    return found


def _is_empty(column: Column) -> Q:
    is_null = Q(**{f"{column.name}__isnull": True})
    return is_null | Q(**{column.name: ""}) if column.kind == "text" else is_null


def _comparison(column: Column, operator: str, value: Any, context: ToolContext) -> Q:
    name = column.name
    if column.kind == "key":
        values = [key_of(column.field, each) for each in (value if operator == "in" else [value])]
        return Q(**{f"{name}__in": values})
    if column.kind in ("date", "datetime"):
        return _in_time(column, operator, value, context)
    if operator == "is_not":
        return ~Q(**{name: value})
    if column.kind == "number":
        value = _number(column, operator, value)
    elif column.kind == "text":
        value = value.replace("\0", "")
    lookups = {
        "is": "iexact" if column.kind == "text" else "exact",
        "in": "in",
        "contains": "icontains",
        "starts_with": "istartswith",
        "at_least": "gte",
        "at_most": "lte",
    }
    return Q(**{f"{name}__{lookups[operator]}": value})


def key_of(field: Any, value: Any) -> Any:
    """Return a value as a key of the field's type. Raises `NotAKey` if it cannot be one."""
    field = without_relations(field)
    try:
        key = field.to_python(value)
    except ValidationError as exc:
        raise NotAKey from exc
    if isinstance(key, str):
        return key.replace("\0", "")
    if isinstance(key, int):
        least, most = connection.ops.integer_field_range(field.get_internal_type())
        if (least is not None and key < least) or (most is not None and key > most):
            raise NotAKey
    return key


def _number(column: Column, operator: str, value: Any) -> Decimal:
    """Return a number that the column can be compared with. Raises `NotAKey` for one that no row has."""
    number = Decimal(str(value))
    field = column.field
    if isinstance(field, DecimalField) and abs(number) >= Decimal(10) ** (field.max_digits - field.decimal_places):
        raise ToolError(f"{column.name} has at most {field.max_digits - field.decimal_places} digits.")
    if isinstance(field, IntegerField) and operator == "is" and number != number.to_integral_value():
        raise NotAKey
    return number


def _in_time(column: Column, operator: str, value: str, context: ToolContext) -> Q:
    name = column.name
    value = value.strip()
    day = _parsed(parse_date, value)
    if column.kind == "date":
        if day is None:
            raise ToolError(f'{name}.{operator} must be a date, such as "2031-03-07".')
        return Q(**{f"{name}__{ {'on': 'exact', 'from': 'gte', 'to': 'lte'}[operator] }": day})
    zone = ZoneInfo(context.tenant.timezone)
    if day is not None:
        if not _FIRST_DAY <= day <= _LAST_DAY:
            raise ToolError(f"{name}.{operator} must lie between {_FIRST_DAY} and {_LAST_DAY}.")
        begin = _moment(dt.datetime.combine(day, dt.time.min), zone)
        end = _moment(dt.datetime.combine(day + dt.timedelta(days=1), dt.time.min), zone)
        if operator == "on":
            return Q(**{f"{name}__gte": begin, f"{name}__lt": end})
        return Q(**{f"{name}__gte": begin}) if operator == "from" else Q(**{f"{name}__lt": end})
    moment = _parsed(parse_datetime, value)
    if moment is None or operator == "on" or not _FIRST_DAY <= moment.date() <= _LAST_DAY:
        form = '"2031-03-07"' if operator == "on" else '"2031-03-07T10:30:00+01:00"'
        raise ToolError(f"{name}.{operator} must have the form {form}.")
    return Q(**{f"{name}__{'gte' if operator == 'from' else 'lte'}": _moment(moment, zone)})


def _parsed(parse: Callable[[str], T | None], value: str) -> T | None:
    try:
        return parse(value)
    except ValueError:
        return None


def _moment(value: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """Return a moment as the project's columns have it; without an offset it is in the tenant's time zone."""
    aware = value if value.tzinfo is not None else value.replace(tzinfo=zone)
    return aware if settings.USE_TZ else aware.astimezone(ZoneInfo(settings.TIME_ZONE)).replace(tzinfo=None)
