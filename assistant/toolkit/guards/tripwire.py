"""Checks tool results for database rows of other tenants, at any depth."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator, Mapping, ValuesView
from collections.abc import Set as AnySet
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from pydantic import BaseModel

from assistant.toolkit.context import current_context
from assistant.toolkit.errors import ForeignRow

MAX_DEPTH = 30
# How many foreign keys are followed, one after the other, from a row without a tenant column.
MAX_HOPS = 3
# Keys in one query.
_ROWS_PER_QUERY = 500
# Types that are not examined: they contain no rows, or are code.
_OPAQUE = (str, bytes, int, float, type(None), type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)


def is_row(value: Any) -> bool:
    """Whether a value is a database row: an instance of a Django model."""
    return hasattr(value, "_meta") and hasattr(value, "pk") and not isinstance(value, type)


class Tripwire:
    """Checks one result against the running tool's tenant; outside a tool it allows everything.

    A row belongs to the tenants in its columns, or if it has no such column, to those that its foreign keys lead to.
    Related rows that are not loaded are queried by `check_pending`, with one query per model.

    Args:
        before_query: called before a row or a queryset is examined, which can query the database; may raise.
    """

    def __init__(self, before_query: Callable[[], None] = lambda: None) -> None:
        self._before_query = before_query
        # Keeps the values alive: the id of a freed object can be reused.
        self._seen: dict[int, Any] = {}
        self._pending: dict[tuple[Any, str, Any], dict[str, Any]] = {}
        try:
            self._tenant_id = current_context().tenant.id
        except LookupError:
            self._tenant_id = None

    def check_row(self, row: Any) -> None:
        """Check one row. Raises `ForeignRow` if its loaded columns show another tenant."""
        if self._tenant_id is not None:
            self._follow(row, row, MAX_HOPS)

    def check_rows_in(self, value: Any, depth: int = 0) -> None:
        """Check every row in a value that is not converted by `to_json_value`. Raises `ForeignRow`."""
        if depth > MAX_DEPTH or isinstance(value, _OPAQUE) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if is_row(value):
            self._before_query()
            self.check_row(value)
            return
        for item in self._contents(value):
            self.check_rows_in(item, depth + 1)

    def checked_value(self, value: Any, depth: int = 0) -> Any:
        """Check a value and return it, with iterators wrapped so that their items are checked when consumed."""
        if isinstance(value, Iterator):
            return self._checked_items(value)
        if depth < MAX_DEPTH and type(value) in (list, tuple):
            return type(value)(self.checked_value(item, depth + 1) for item in value)
        if depth < MAX_DEPTH and type(value) is dict:
            self.check_rows_in(list(value))
            return {key: self.checked_value(item, depth + 1) for key, item in value.items()}
        self.check_rows_in(value)
        return value

    def check_pending(self) -> None:
        """Query the tenants of rows that could not be checked yet. Raises `ForeignRow`."""
        pending, self._pending = self._pending, {}
        for (model, column, database), rows in pending.items():
            lookups, keys = _tenant_lookups(model, MAX_HOPS), list(rows)
            for start in range(0, len(keys), _ROWS_PER_QUERY):
                condition = {f"{column}__in": keys[start : start + _ROWS_PER_QUERY]}
                tenants_of = model._base_manager.using(database).filter(**condition).values_list(column, *lookups)
                for key, *tenants in tenants_of:
                    for tenant in tenants:
                        self._check_tenant(tenant, rows[str(key)])

    def _checked_items(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            yield self.checked_value(item)

    def _check_tenant(self, tenant: Any, row: Any) -> None:
        if tenant is not None and str(tenant) != str(self._tenant_id):
            name = type(row).__name__
            raise ForeignRow(f"A tool of tenant {self._tenant_id} returned {name} {row.pk} of tenant {tenant}.")

    def _follow(self, row: Any, origin: Any, hops: int) -> None:
        """Check `row`: `origin` itself, or a row that it refers to through foreign keys."""
        unloaded = row.get_deferred_fields() if hasattr(row, "get_deferred_fields") else ()
        own = _tenant_columns(row._meta)
        if {*own} & {*unloaded}:
            self._defer(type(row), "pk", row.pk, origin)
            return
        tenants = [getattr(row, name) for name in own or ["tenant_id"] if hasattr(row, name)]
        if _is_tenant(row._meta):
            tenants.append(row.pk)
        for tenant in tenants:
            self._check_tenant(tenant, origin)
        if tenants or not hops:
            return
        for column in _relations(row._meta):
            if not _tenant_lookups(column.related_model, hops - 1):
                continue
            if column.attname in unloaded:
                self._defer(type(row), "pk", row.pk, origin)
            elif (key := getattr(row, column.attname)) is not None:
                related = row._state.fields_cache.get(column.name)
                if related is not None:
                    self._follow(related, origin, hops - 1)
                else:
                    self._defer(column.related_model, column.target_field.attname, key, origin)

    def _defer(self, model: Any, column: str, key: Any, origin: Any) -> None:
        self._pending.setdefault((model, column, origin._state.db), {})[str(key)] = origin

    def _contents(self, value: Any) -> Iterator[Any]:
        """Yield the contents of a value that can be examined without consuming it."""
        if hasattr(value, "get_queryset") and hasattr(value, "model"):
            value = value.get_queryset()
        if hasattr(value, "_iterable_class"):
            self._before_query()
            yield from value
        elif isinstance(value, list | tuple | AnySet | deque | ValuesView):
            yield from value
        elif isinstance(value, Mapping):
            yield from value.keys()
            yield from value.values()
        elif isinstance(value, BaseModel):
            yield from vars(value).values()
        elif dataclasses.is_dataclass(value):
            yield from (getattr(value, field.name) for field in dataclasses.fields(value))
        elif not isinstance(value, Iterator):
            yield from filter(_is_fetched, _attributes(value))


def _attributes(value: Any) -> Iterator[Any]:
    """Yield the attributes of an object, including its slots."""
    yield from getattr(value, "__dict__", {}).values()
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(value, name, None)


def _is_fetched(value: Any) -> bool:
    """Whether a value can be examined without a query: not an unevaluated queryset or a manager."""
    if hasattr(value, "_iterable_class"):
        return value._result_cache is not None
    return not (hasattr(value, "get_queryset") and hasattr(value, "model"))


def _is_tenant(meta: Any) -> bool:
    return getattr(meta, "model_name", "") == "tenant"


def _relations(meta: Any) -> list[Any]:
    """Return the foreign key columns."""
    columns = getattr(meta, "concrete_fields", ())
    return [column for column in columns if hasattr(getattr(column, "related_model", None), "_meta")]


def _tenant_columns(meta: Any) -> list[str]:
    to_tenants = [column.attname for column in _relations(meta) if _is_tenant(column.related_model._meta)]
    named = [column.attname for column in getattr(meta, "concrete_fields", ()) if column.attname == "tenant_id"]
    return list({*to_tenants, *named})


@lru_cache(maxsize=1024)
def _tenant_lookups(model: Any, hops: int) -> tuple[str, ...]:
    """Return the field lookups that lead from a model's rows to their tenants, such as `order__tenant_id`."""
    if own := _tenant_columns(model._meta):
        return tuple(own)
    if not hops:
        return ()
    return tuple(
        f"{column.name}__{lookup}"
        for column in _relations(model._meta)
        for lookup in _tenant_lookups(column.related_model, hops - 1)
    )
