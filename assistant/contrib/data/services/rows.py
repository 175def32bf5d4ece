"""`find` and `get`: rows of a model as the language model reads them, each with its id, label and link."""

from __future__ import annotations

import datetime as dt
import json
import logging
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Exists, F
from django.db.models.expressions import OrderBy
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from assistant.contrib.data.services.columns import Column, Relation, column_of
from assistant.contrib.data.services.plans import Plan
from assistant.contrib.data.services.reading import NoQuery, check_cost, reading, without_queries
from assistant.contrib.data.services.schemas import DEFAULT_SIZE
from assistant.contrib.data.services.selecting import NotAKey, key_of, selected, value_of
from assistant.contrib.data.services.visible_rows import Rows, lacks_permission, permitted, visible_rows
from assistant.toolkit import ToolContext, ToolError, ToolResult
from assistant.toolkit.guards.tenant_paths import tenant_models

logger = logging.getLogger(__name__)
# Characters of one value in a list and in a single row, and of a label.
MAX_LISTED = 500
MAX_SHOWN = 5_000
MAX_LABEL = 200
# Rows of which the project's backend is asked one by one.
MAX_ASKED = 200
# A path of this site or a whole address; "//name" would be a path to another site.
_ADDRESS = re.compile(r"/(?![/\\])|https?://")
_STAFF = "data_is_staff"
# Kinds of columns whose conditions leave a good part of a large table.
_FEW_VALUES = ("choice", "boolean")


class RowTexts:
    """The labels and links of rows, which their models make of the columns that are shown, without a query.

    A model whose method needs more is not asked again for the other rows of a page.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._failed: set[str] = set()

    def label(self, row: Any) -> str:
        """Return what a row is called."""
        words = " ".join(self._made("__str__", row).split())[:MAX_LABEL]
        return words or f"{str(self._plan.model._meta.verbose_name).capitalize()} {row.pk}"

    def link(self, row: Any) -> str:
        """Return the address of a row's page: its own, else its page in the admin for staff; "" if there is none."""
        if hasattr(row, "get_absolute_url"):
            address = self._made("get_absolute_url", row)
            return address if _ADDRESS.match(address) else ""
        if not getattr(row, _STAFF, False):
            return ""
        meta = self._plan.model._meta
        try:
            return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])
        except NoReverseMatch:
            return ""

    def _made(self, method: str, row: Any) -> str:
        if method in self._failed:
            return ""
        try:
            with without_queries():
                return plain(str(getattr(row, method)()))
        except NoQuery:
            self._failed.add(method)
        except Exception as exc:
            logger.info("%s.%s failed: %s", self._plan.label, method, type(exc).__name__)
        return ""


def find(plan: Plan, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Return a page of the rows that a call chooses."""
    size = arguments.get("size") or DEFAULT_SIZE
    start = ((arguments.get("page") or 1) - 1) * size
    hint = narrowing_hint(plan)
    with reading(hint):
        rows = selected(visible_rows(plan, context), plan, arguments, context)
        rows = loaded(rows, plan, context).order_by(*order_of(plan, arguments.get("order_by"), context))
        if plan.uses_object_permissions:
            asked = rows[:MAX_ASKED]
            check_cost(asked, hint)
            page = permitted(plan, context, list(asked))[start : start + size + 1]
        else:
            asked = rows[start : start + size + 1]
            check_cost(asked, hint)
            page = list(asked)
        if not page and start == 0:
            _say_if_not_permitted(plan, context)
    has_more = len(page) > size
    shown: list[dict[str, Any]] = []
    length = 0
    texts = RowTexts(plan)
    for row in page[:size]:
        values = row_values(plan, row, texts, context, MAX_LISTED)
        length += len(_json(values).encode())
        if length > settings.ASSISTANT_DATA_BYTES and shown:
            has_more = True
            break
        shown.append(values)
    answer: dict[str, Any] = {"rows": shown}
    if has_more and len(shown) < size and len(page) > len(shown):
        answer["more"] = f"Only {len(shown)} rows fit. Ask for pages of {len(shown)} rows, or narrow it."
    elif has_more:
        answer["more"] = f"There are more rows: page {start // size + 2}. To count all, summarise."
    return ToolResult(content=_json(answer), value=page[: len(shown)])


def get(plan: Plan, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Return one row.

    Raises:
        ToolError: there is none, or the member may not see it; nothing tells which.
    """
    row = None
    with reading(narrowing_hint(plan)):
        try:
            key = key_of(plan.model._meta.pk, arguments["id"])
        except NotAKey:
            found: list[Any] = []
        else:
            chosen = loaded(visible_rows(plan, context).filter(pk=key), plan, context)[:1]
            found = permitted(plan, context, list(chosen))
        row = next(iter(found), None)
    if row is None:
        raise ToolError(f"There is no {plan.one.replace('_', ' ')} with this id among those that you can see.")
    return ToolResult(content=_json(row_values(plan, row, RowTexts(plan), context, MAX_SHOWN)), value=[row])


def narrowing_hint(plan: Plan) -> str:
    """Return the sentence that says what a call can be narrowed by: columns with an index and many values first."""
    columns = sorted(plan.filters, key=lambda column: (not _has_index(column), column.kind in _FEW_VALUES))
    names = ", ".join([column.name for column in columns][:5])
    return f"Narrow it by where: {names}." if names else "Ask for less."


def _has_index(column: Column) -> bool:
    """Whether an index of the exposed model has a column: its own, or one beside others, such as the tenant."""
    field = column.own_field
    if len(column.relations) > int(field.is_relation):
        return False
    if getattr(field, "db_index", False) or getattr(field, "unique", False):
        return True
    meta = field.model._meta
    together = [
        *meta.unique_together,
        *(index.fields for index in [*meta.indexes, *meta.constraints] if hasattr(index, "fields")),
    ]
    return any(field.name in (name.removeprefix("-") for name in names) for names in together)


def _say_if_not_permitted(plan: Plan, context: ToolContext) -> None:
    if lacks_permission(plan, context):
        raise ToolError(f"The user lacks the permission to view {plan.many.replace('_', ' ')}.")


def loaded(rows: Rows, plan: Plan, context: ToolContext) -> Rows:
    """Have a query load what is shown of a row and what says whose it is, and nothing else."""
    own = [column.name for column in plan.columns if column.is_own]
    keys = [column.name for column in tenant_models().own_columns(plan.model)]
    added: dict[str, Any] = {}
    for number, column in enumerate(plan.columns):
        if not column.is_own:
            added[_annotation(number)] = value_of(column, context)
    for number, relation in enumerate(_relations(plan)):
        added[f"data_key_{number}"] = value_of(_key_of(plan, relation), context)
    if _links_to_admin(plan):
        staff = get_user_model()._base_manager.filter(pk=context.user.pk, is_staff=True)
        added[_STAFF] = Exists(staff)
    loaded: Rows = rows.select_related(None).prefetch_related(None).annotate(**added).only("pk", *own, *keys)
    return loaded


def _annotation(number: int) -> str:
    return f"data_value_{number}"


def _relations(plan: Plan) -> list[Relation]:
    """Return the relations to single rows of which columns are shown."""
    found = {
        relation.lookup: relation
        for column in plan.columns
        if not column.own_field.is_relation
        for relation in column.relations
    }
    return sorted(found.values(), key=lambda relation: relation.lookup.count("__"))


def _key_of(plan: Plan, relation: Relation) -> Column:
    return column_of(plan.model, relation.lookup, depth=relation.lookup.count("__") + 1)


def order_of(plan: Plan, chosen: str | None, context: ToolContext) -> Iterator[Any]:
    columns = {column.name: column for column in plan.columns}
    names = [chosen] if chosen else list(plan.exposure.order or _order_of_model(plan, columns))
    for name in names:
        column = columns[name.removeprefix("-")]
        is_descending = name.startswith("-")
        may_be_empty = bool(column.relations) or column.field.null
        last = True if may_be_empty else None
        value = F(column.name) if column.is_own else value_of(column, context)
        yield OrderBy(value, descending=is_descending, nulls_last=last)
    yield "-pk" if not names or names[-1].startswith("-") else "pk"


def _order_of_model(plan: Plan, columns: Mapping[str, Column]) -> list[str]:
    names = [name for name in plan.model._meta.ordering if isinstance(name, str)]
    return names if all(name.removeprefix("-") in columns for name in names) else []


def row_values(plan: Plan, row: Any, texts: RowTexts, context: ToolContext, limit: int) -> dict[str, Any]:
    zone = ZoneInfo(context.tenant.timezone)
    set_related(plan, row)
    values: dict[str, Any] = {"id": shown_value(row.pk, zone, limit), "label": texts.label(row)}
    if link := texts.link(row):
        values["link"] = link
    for number, column in enumerate(plan.columns):
        if column.field.primary_key and column.is_own:
            continue
        value = getattr(row, column.own_field.attname) if column.is_own else getattr(row, _annotation(number))
        values[column.name] = shown_value(value, zone, limit)
    return values


def set_related(plan: Plan, row: Any) -> None:
    """Give a row the related rows that may be seen, with the columns that are shown, for its own label and link.

    All others are empty, so that nothing asks the database for them.
    """
    _empty_relations(row)
    made: dict[str, Any] = {"": row}
    for number, relation in enumerate(_relations(plan)):
        key = getattr(row, f"data_key_{number}")
        before, _, name = relation.lookup.rpartition("__")
        owner = made.get(before)
        if key is None or owner is None:
            continue
        columns = {
            column.own_field.attname: getattr(row, _annotation(position))
            for position, column in enumerate(plan.columns)
            if column.relations and column.relations[-1] == relation and not column.own_field.is_relation
        }
        columns[relation.model._meta.pk.attname] = key
        known = [field.attname for field in relation.model._meta.concrete_fields if field.attname in columns]
        related = relation.model.from_db(row._state.db, known, [columns[attname] for attname in known])
        _empty_relations(related)
        owner._state.fields_cache[name] = related
        made[relation.lookup] = related


def _empty_relations(row: Any) -> None:
    for field in row._meta.concrete_fields:
        if field.is_relation:
            row._state.fields_cache[field.name] = None


def shown_value(value: Any, zone: ZoneInfo, limit: int) -> Any:
    """Return a column's value as JSON has it: times in the tenant's zone, numbers with decimals as text."""
    if isinstance(value, dt.datetime):
        aware = value if timezone.is_aware(value) else value.replace(tzinfo=ZoneInfo(settings.TIME_ZONE))
        return aware.astimezone(zone).isoformat(timespec="seconds")
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict | list | tuple):
        value = json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False, default=str)
    text = plain(str(value))
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def plain(text: str) -> str:
    """Return a text without Django's mark that it is safe as HTML, which the encoder of events refuses."""
    return str.__str__(text)


def _links_to_admin(plan: Plan) -> bool:
    return plan.model in admin.site._registry


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
