"""The parameters of the tools, as JSON Schema: a property of `where` for each column, with its conditions."""

from __future__ import annotations

from typing import Any

from django.db import models

from assistant.contrib.data.services.columns import Column, without_relations
from assistant.contrib.data.services.plans import Plan

Schema = dict[str, Any]
MAX_SIZE = 50
DEFAULT_SIZE = 20
MAX_PAGE = 100
MAX_TEXT = 200
MAX_VALUES = 50
PERIODS = ("day", "week", "month", "quarter", "year")
MEASURES = ("count", "sum", "average", "minimum", "maximum")
_DATE = {"type": "string", "description": "A date, such as 2031-03-07"}
_MOMENT = {"type": "string", "description": "A date, or a date and time: 2031-03-07, 2031-03-07T10:30:00+01:00"}
_EMPTY = {"type": "boolean", "description": "Whether it has no value"}


def find_parameters(plan: Plan) -> Schema:
    """Return the parameters of `find_<plural>`."""
    orders = [column.name for column in plan.columns if not column.is_many and column.kind != "value"]
    properties: Schema = _selection(plan)
    if orders:
        properties["order_by"] = {
            "type": "string",
            "enum": [name for order in orders for name in (order, f"-{order}")],
            "description": "The order; - is descending",
        }
    properties["page"] = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "description": "1 is the first"}
    properties["size"] = {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_SIZE,
        "description": f"Rows of a page; {DEFAULT_SIZE} by default",
    }
    return _object(properties)


def get_parameters(plan: Plan) -> Schema:
    """Return the parameters of `get_<name>`."""
    key = _key(plan.model._meta.pk) | {"description": "The id of the row, as find gives it"}
    return {**_object({"id": key}), "required": ["id"]}


def summarise_parameters(plan: Plan) -> Schema:
    """Return the parameters of `summarise_<plural>`."""
    numbers = [column.name for column in plan.columns if column.is_number]
    properties: Schema = {"measure": {"type": "string", "enum": list(MEASURES if numbers else MEASURES[:1])}}
    if numbers:
        description = "Of which column; not for count"
        properties["of"] = {"type": "string", "enum": numbers, "description": description}
    if groups := group_names(plan):
        properties["group_by"] = {
            "type": "array",
            "items": {"type": "string", "enum": groups},
            "maxItems": 2,
            "description": "Columns, or periods of dates; none for one figure of all rows",
        }
    return {**_object(properties | _selection(plan)), "required": ["measure"]}


def group_names(plan: Plan) -> list[str]:
    """Return what rows can be grouped by: columns, and dates with a period, such as `placed_at.month`."""
    names: list[str] = []
    for column in plan.columns:
        if column.kind in ("date", "datetime"):
            names += [f"{column.name}.{period}" for period in PERIODS]
        elif column.kind != "value" and not _is_of_one_row(column):
            names.append(column.name)
    return names


def _is_of_one_row(column: Column) -> bool:
    """Whether each row has another value, so that groups of it would be rows."""
    is_single = column.field.unique or isinstance(column.field, models.TextField)
    return column.is_own and is_single


def _selection(plan: Plan) -> Schema:
    """Return the properties that choose rows."""
    properties: Schema = {}
    if conditions := {column.name: _conditions(column) for column in plan.filters}:
        properties["where"] = {**_object(conditions), "description": "Conditions; a row has to meet all of them"}
    if plan.search:
        names = ", ".join(column.name for column in plan.search)
        description = f"Words that a row has to contain, in any of: {names}"
        properties["search"] = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT, "description": description}
    return properties


def _conditions(column: Column) -> Schema:
    text = {"type": "string", "maxLength": MAX_TEXT}
    by_kind: dict[str, Schema] = {
        "text": {"is": text, "contains": text, "starts_with": text, "empty": _EMPTY},
        "number": {"is": _NUMBER, "at_least": _NUMBER, "at_most": _NUMBER, "empty": _EMPTY},
        "boolean": {"is": {"type": "boolean"}},
        "date": {"on": _DATE, "from": _DATE, "to": _DATE, "empty": _EMPTY},
        "datetime": {"on": _DATE, "from": _MOMENT, "to": _MOMENT, "empty": _EMPTY},
    }
    if column.kind == "choice":
        value: Schema = {"type": _type_of_choices(column), "enum": values_of(column)}
        conditions = {"is": value, "is_not": value, "in": _list_of(value)}
    elif column.kind == "key":
        value = _key(column.field)
        conditions = {"is": value, "in": _list_of(value), "empty": _EMPTY}
    else:
        conditions = by_kind[column.kind]
    return {**_object(conditions), "minProperties": 1, "description": described(column)}


_NUMBER = {"type": "number"}


def values_of(column: Column) -> list[Any]:
    """Return the values of a column with choices, without the empty one."""
    return [value for value, _ in column.field.flatchoices if value not in ("", None)]


def _type_of_choices(column: Column) -> str:
    return "integer" if all(isinstance(value, int) for value in values_of(column)) else "string"


def described(column: Column) -> str:
    """Return what a column is: an operator's words, else its name and help text; and the names of its choices."""
    help_text = str(getattr(column.own_field, "help_text", "") or "").strip()
    sentences = [column.wording] if column.wording else [column.title.strip().capitalize(), help_text]
    if column.kind == "choice":
        named = [(value, str(name)) for value, name in column.field.flatchoices if value not in ("", None)]
        sentences.append("; ".join(f"{value}: {name}" for value, name in named if str(value) != name))
    if column.kind == "key":
        sentences.append("An id")
    return ". ".join(sentence.rstrip(".") for sentence in sentences if sentence)


def _key(field: Any) -> Schema:
    if isinstance(without_relations(field), models.IntegerField):
        return {"type": "integer"}
    return {"type": "string", "maxLength": MAX_TEXT}


def _list_of(value: Schema) -> Schema:
    return {"type": "array", "items": value, "minItems": 1, "maxItems": MAX_VALUES}


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}
