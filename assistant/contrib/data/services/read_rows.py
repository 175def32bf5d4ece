"""Watches which rows the project's code loads for a call: those of another tenant are an incident, and no answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db.models.signals import post_init

from assistant.contrib.data.services.tenant_conditions import of_tenant, problem_of_path
from assistant.hosting import get_host
from assistant.optional_apps import labels
from assistant.toolkit import ForeignRow, ToolContext, ToolError
from assistant.toolkit.guards.tenant_paths import concrete, tenant_models

MAX_ROWS = 5_000
_KEYS_AT_ONCE = 500
_loaded: ContextVar[dict[int, Any] | None] = ContextVar("assistant_data_loaded_rows", default=None)


@contextmanager
def only_own_rows(context: ToolContext) -> Iterator[None]:
    """Check, when a block has ended well, that all rows that it has loaded are the tenant's.

    Users, tenants and memberships are not looked at. Values that are read without rows are not seen.

    Raises:
        ForeignRow: one is another tenant's.
        ToolError: there are more than `MAX_ROWS`.
    """
    rows: dict[int, Any] = {}
    token = _loaded.set(rows)
    try:
        yield
    finally:
        _loaded.reset(token)
    for model, keys in _by_model(list(rows.values())).items():
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            _check(model, keys[start : start + _KEYS_AT_ONCE], context)


def _by_model(rows: list[Any]) -> dict[Any, list[Any]]:
    keys: dict[Any, dict[Any, None]] = {}
    for row in rows:
        if row.pk is not None and not row._state.adding:
            keys.setdefault(concrete(type(row)), {})[row.pk] = None
    return {model: list(found) for model, found in keys.items() if _is_looked_at(model)}


def _is_looked_at(model: Any) -> bool:
    host = get_host()
    known = () if host is None else (host.tenant_model, host.membership_model)
    excepted = {get_user_model(), *(apps.get_model(name) for name in known if name)}
    is_own = model._meta.app_label not in labels() and model not in excepted
    return is_own and bool(tenant_models().ways(model)) and not problem_of_path(model)


def _check(model: Any, keys: list[Any], context: ToolContext) -> None:
    there = model._base_manager.filter(pk__in=keys)
    own = model._base_manager.filter(of_tenant(model, context), pk__in=keys)
    if own.values("pk").distinct().count() != there.count():
        raise ForeignRow(f"A view of tenant {context.tenant.id} read {model._meta.label} of another one.")


def _note(sender: Any, instance: Any, **_: Any) -> None:
    rows = _loaded.get()
    if rows is None:
        return
    if len(rows) >= MAX_ROWS:
        raise ToolError(f"This reads more than {MAX_ROWS} rows. Ask for less.")
    rows[id(instance)] = instance


def loaded_rows(model: Any) -> list[Any]:
    """Return the rows of a model that the call has loaded so far."""
    return [row for row in (_loaded.get() or {}).values() if type(row) is model and not row._state.adding]


def forget(row: Any) -> None:
    """Take a row that is not shown from those that a call has loaded."""
    if rows := _loaded.get():
        rows.pop(id(row), None)


def watch() -> None:
    """Note rows as they are made. Only projects that expose a document or a viewset do, because each row is told of."""
    post_init.connect(_note, weak=False, dispatch_uid="assistant.contrib.data.read_rows")
