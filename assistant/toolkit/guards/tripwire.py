"""Checks tool results for database rows of other tenants, at any depth."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator, Mapping, ValuesView
from collections.abc import Set as AnySet
from functools import cached_property
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from pydantic import BaseModel

from assistant.toolkit.context import TenantInfo, current_context
from assistant.toolkit.errors import ForeignRow
from assistant.toolkit.guards.tenant_paths import (
    MAX_HOPS,
    TenantModels,
    Way,
    concrete,
    generic_keys,
    relations,
    tenant_models,
)

MAX_DEPTH = 30
# Keys in one query.
_ROWS_PER_QUERY = 500
# Types that are not examined: they contain no rows, or are code.
_OPAQUE = (str, bytes, int, float, type(None), type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)


def is_row(value: Any) -> bool:
    """Whether a value is a database row: an instance of a Django model."""
    return hasattr(value, "_meta") and hasattr(value, "pk") and not isinstance(value, type)


def is_raw(value: Any) -> bool:
    """Whether a value is a queryset of a statement in SQL."""
    return hasattr(value, "raw_query") and hasattr(value, "model")


class Tripwire:
    """Checks one result against the running tool's tenant; outside a tool it allows everything.

    A row belongs to the tenants in its columns, or if it has no such column, to those that its foreign keys and generic
    foreign keys lead to. `tenant_paths` says which models are tenants. Related rows that are not loaded are queried by
    `check_pending`, with one query per model.

    Args:
        before_query: called before a row or a queryset is examined, which can query the database; may raise.
    """

    def __init__(self, before_query: Callable[[], None] = lambda: None) -> None:
        self._before_query = before_query
        # Keeps the values alive: the id of a freed object can be reused.
        self._seen: dict[int, Any] = {}
        self._pending: dict[tuple[Any, str, Any], dict[str, Any]] = {}
        # Objects that generic foreign keys refer to: (field, id of the content type, database) -> key -> row.
        self._generic: dict[tuple[Any, Any, Any], dict[str, Any]] = {}
        try:
            self._tenant: TenantInfo | None = current_context().tenant
        except LookupError:
            self._tenant = None
        if self._tenant is not None and self._tenant.id is None and not self._tenant.external_id:
            self._tenant = None

    @cached_property
    def _models(self) -> TenantModels:
        return tenant_models()

    def check_row(self, row: Any) -> None:
        """Check one row. Raises `ForeignRow` if its loaded columns show another tenant."""
        if self._tenant is not None:
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
        # Each round follows one generic relation more.
        for _ in range(MAX_HOPS + 1):
            self._resolve_generic()
            pending, self._pending = self._pending, {}
            for (model, column, database), rows in pending.items():
                keys = list(rows)
                for start in range(0, len(keys), _ROWS_PER_QUERY):
                    asked = {f"{column}__in": keys[start : start + _ROWS_PER_QUERY]}
                    tenants_of = model._base_manager.using(database).filter(**asked)
                    self._check_ways(model, column, tenants_of, rows)

    def _check_ways(self, model: Any, column: str, found: Any, rows: Mapping[str, Any]) -> None:
        ways = self._models.ways(model)
        lookups = [name for way in ways for name in (way.lookup, way.content_type) if name]
        shared: dict[tuple[str, Way], set[Any]] = {}
        for key, *values in found.values_list(column, *lookups) if ways else ():
            origin, value = rows[str(key)], dict(zip(lookups, values, strict=True))
            for way in ways:
                if way.generic is not None:
                    self._defer_generic(way.generic, value[way.content_type], value[way.lookup], origin)
                elif way.is_shared:
                    shared.setdefault((str(key), way), set()).add(value[way.lookup])
                else:
                    self._check_tenant(value[way.lookup], way.key, origin)
        for (key, way), tenants in shared.items():
            if self._own_key(way.key) not in map(str, tenants):
                for tenant in tenants:
                    self._check_tenant(tenant, way.key, rows[key])

    def _resolve_generic(self) -> None:
        """Add the objects of generic foreign keys to the rows that are to be queried."""
        generic, self._generic = self._generic, {}
        for (field, type_id, database), rows in generic.items():
            model = field.get_content_type(id=type_id, using=database).model_class()
            if model is not None and self._models.ways(model):
                for key, origin in rows.items():
                    self._defer(model, "pk", model._meta.pk.to_python(key), origin)

    def _checked_items(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            yield self.checked_value(item)

    def _own_key(self, key: str) -> str:
        return str(getattr(self._tenant, key))

    def _check_tenant(self, theirs: Any, key: str, row: Any) -> None:
        if theirs is not None and str(theirs) != self._own_key(key):
            name, kind = type(row).__name__, "tenant" if key == "id" else "the project's tenant"
            own = self._tenant.id if self._tenant is not None else ""
            raise ForeignRow(f"A tool of tenant {own} returned {name} {row.pk} of {kind} {theirs}.")

    def _follow(self, row: Any, origin: Any, hops: int) -> None:
        """Check `row`, which is `origin` or a row that it refers to."""
        model = concrete(type(row))
        if model in self._models.tenantless:
            return
        if model in self._models.declared:
            self._defer(type(row), "pk", row.pk, origin)
        elif key := self._models.key_of(model):
            self._check_tenant(row.pk, key, origin)
        elif own := self._models.own_columns(row):
            for column in own:
                self._follow_column(row, column, origin, hops)
        elif hops:
            for column in relations(row._meta):
                if self._models.ways(column.related_model, hops - 1):
                    self._follow_column(row, column, origin, hops)
            for field in generic_keys(row._meta):
                self._follow_generic(row, field, origin, hops)

    def _follow_column(self, row: Any, column: Any, origin: Any, hops: int) -> None:
        if column.attname in _unloaded(row):
            self._defer(type(row), "pk", row.pk, origin)
            return
        value = getattr(row, column.attname)
        if value is None:
            return
        key = self._models.key_of(column.related_model)
        if key and column.target_field.primary_key:
            self._check_tenant(value, key, origin)
        elif (related := row._state.fields_cache.get(column.name)) is not None:
            self._follow(related, origin, hops - 1)
        else:
            self._defer(column.related_model, column.target_field.attname, value, origin)

    def _follow_generic(self, row: Any, field: Any, origin: Any, hops: int) -> None:
        type_column = row._meta.get_field(field.ct_field).attname
        if {type_column, field.fk_field} & _unloaded(row):
            self._defer(type(row), "pk", row.pk, origin)
        elif (related := row._state.fields_cache.get(field.name)) is not None:
            self._follow(related, origin, hops - 1)
        else:
            self._defer_generic(field, getattr(row, type_column), getattr(row, field.fk_field), origin)

    def _defer(self, model: Any, column: str, key: Any, origin: Any) -> None:
        if key is not None:
            self._pending.setdefault((model, column, origin._state.db), {})[str(key)] = origin

    def _defer_generic(self, field: Any, type_id: Any, key: Any, origin: Any) -> None:
        if type_id is not None and key is not None:
            self._generic.setdefault((field, type_id, origin._state.db), {})[str(key)] = origin

    def _contents(self, value: Any) -> Iterator[Any]:
        """Yield the contents of a value that can be examined without consuming it."""
        if hasattr(value, "get_queryset") and hasattr(value, "model"):
            value = value.get_queryset()
        if hasattr(value, "_iterable_class") or is_raw(value):
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


def _unloaded(row: Any) -> set[str]:
    return set(row.get_deferred_fields()) if hasattr(row, "get_deferred_fields") else set()
