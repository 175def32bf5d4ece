"""Finds the tables whose rows lead to tenants, with the conditions that row-level security puts on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, models

from assistant import optional_apps
from assistant.models import Tenant
from assistant.services.tenancy.host import host_model, is_third_party, membership_model
from assistant.toolkit.guards.tenant_paths import MAX_HOPS, generic_keys, tenant_models

VARIABLE = "assistant.tenants"
# A subquery, so that it is evaluated once for a statement and not for each row.
VISIBLE = f"(SELECT current_setting('{VARIABLE}', true))"
_VISIBLE_IDS = (
    f"ANY ((SELECT string_to_array(nullif(current_setting('{VARIABLE}', true), '*'), ',')::bigint[])::bigint[])"
)
# The distance of models that lead to tenants by a generic foreign key: greater than of those with foreign keys alone.
_GENERIC = MAX_HOPS + 2
_SHARED = ("assistant.Provider",)
Model = type[models.Model]
Key = models.ForeignKey[Any, Any]


@dataclass(frozen=True, slots=True)
class ProtectedTable:
    """A table whose rows belong to tenants.

    Attributes:
        condition: SQL that is true for visible rows.
        is_shared_without_tenant: all tenants may read rows without a tenant.
        is_hosts: the rows belong to tenants of the host project.
    """

    table: str
    condition: str
    is_shared_without_tenant: bool = False
    is_hosts: bool = False


def protected_tables() -> list[ProtectedTable]:
    """Return every table whose rows lead to a tenant, as the models say; the host project's own tables too."""
    tables = [model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy]
    found = {model: one for model in tables if (one := _protected(model)) is not None}
    found |= dict(_host_tables([model for model in tables if model not in found]))
    return sorted(found.values(), key=lambda one: one.table)


def _protected(model: Model) -> ProtectedTable | None:
    if model is Tenant:
        return ProtectedTable(model._meta.db_table, f"{_quoted('id')} = {_VISIBLE_IDS}")
    keys = list(_keys(model))
    own = next((key for key in keys if key.related_model is Tenant), None)
    if own is not None:
        condition = f"{_quoted(own.column)} = {_VISIBLE_IDS}"
        # All tenants may read providers without a tenant, and what an optional app's model says so of. Any other row
        # without one is the deployment's own.
        is_for_all = model._meta.label in _SHARED or getattr(model, "is_for_all_without_tenant", False)
        is_shared = own.null and is_for_all
        return ProtectedTable(model._meta.db_table, condition, is_shared)
    parents = [key for key in keys if _leads_to_tenant(key.related_model, (model,)) and not key.null]
    if not parents:
        return None
    return ProtectedTable(model._meta.db_table, " AND ".join(_has_parent(model, key) for key in parents))


def _leads_to_tenant(model: Any, seen: tuple[Any, ...]) -> bool:
    if model is Tenant:
        return True
    if model in seen:
        return False
    return any(key.related_model is Tenant for key in _keys(model)) or any(
        _leads_to_tenant(key.related_model, (*seen, model)) for key in _keys(model) if not key.null
    )


def _host_tables(candidates: list[Model]) -> Iterator[tuple[Model, ProtectedTable]]:
    """Yield the tables whose rows lead to the host's tenants.

    The user model, memberships, and who may do what (rows that lead to permissions or groups, and those of packages
    such as django-guardian) are left out, because they are read before the tenant is known. So are models with a
    declared lookup through rows that a row has many of.
    """
    host, known = host_model(), tenant_models()
    if host is None:
        return
    left_out = {get_user_model(), *known.tenantless, *(model for model, way in known.declared.items() if way.is_shared)}
    ours = optional_apps.labels()
    own = [
        model
        for model in candidates
        if model not in left_out and model._meta.app_label not in ours and not _is_read_first(model)
    ]
    declared = {model: known.declared[model].lookup.split("__") for model in own if model in known.declared}
    distances = _distances({host: 0, **{model: len(names) for model, names in declared.items()}}, own)
    for model, distance in distances.items():
        if model in declared:
            condition = _declared_condition(host, model, declared[model], _quoted(model._meta.db_table))
        elif distance == _GENERIC:
            condition = _generic_condition(model, [target for target, steps in distances.items() if steps < _GENERIC])
        else:
            condition = _host_condition(host, model, distances)
        yield model, ProtectedTable(model._meta.db_table, condition, is_hosts=True)


def _is_read_first(model: Model) -> bool:
    """Return whether rows say who somebody is or what they may do, which is asked before the tenant is known."""
    return (
        is_third_party(model)
        or model is membership_model()
        or any(key.related_model in (Group, Permission) for key in _keys(model))
    )


def _distances(start: Mapping[Model, int], candidates: list[Model]) -> dict[Model, int]:
    """Return how many foreign keys each model is away from the host's tenants; `_GENERIC` for a generic one."""
    found = _spread(start, candidates, range(1, _GENERIC))
    generic = {model: _GENERIC for model in candidates if model not in found and generic_keys(model._meta)}
    return _spread(found | generic, candidates, range(_GENERIC + 1, _GENERIC + MAX_HOPS + 1))


def _spread(start: Mapping[Model, int], candidates: list[Model], distances: range) -> dict[Model, int]:
    found = dict(start)
    for distance in distances:
        for model in [model for model in candidates if model not in found]:
            if any(found.get(key.related_model, distance) < distance for key in _keys(model)):
                found[model] = distance
    return found


def _host_condition(host: Model, model: Model, distances: Mapping[Model, int]) -> str:
    """Return SQL that is true for rows that lead to visible tenants by every one of their shortest ways.

    PostgreSQL does not allow policies that refer to each other in a circle, so a condition refers only to tables that
    are nearer to the tenant. Rows without any key to a tenant are visible to nobody.
    """
    if model is host:
        return f"{_quoted(_pk(host).column)} = {_visible_host_keys(host)}"
    far = distances[model]
    near = [key for key in _keys(model) if distances.get(key.related_model, far) < far]
    keys = [key for key in near if not key.null] or near
    leads = [_leads_by(host, model, key) for key in keys]
    if not keys[0].null:
        return " AND ".join(leads)
    holds = " AND ".join(f"({_quoted(key.column)} IS NULL OR {one})" for key, one in zip(keys, leads, strict=True))
    return f"coalesce({', '.join(f'{_quoted(key.column)}::text' for key in keys)}) IS NOT NULL AND {holds}"


def _leads_by(host: Model, model: Model, key: Key) -> str:
    if key.related_model is host and key.target_field.primary_key:
        return f"{_quoted(key.column)} = {_visible_host_keys(host)}"
    return _has_parent(model, key)


def _generic_condition(model: Model, targets: list[Model]) -> str:
    """Return SQL for a model that leads to tenants only by what its generic foreign keys refer to."""
    return " AND ".join(f"({_refers_to_visible(model, field, targets)})" for field in generic_keys(model._meta))


def _refers_to_visible(model: Model, field: Any, targets: list[Model]) -> str:
    kind, value = (_column(model, _field(model, name).column) for name in (field.ct_field, field.fk_field))
    types = _quoted(ContentType._meta.db_table)
    return " OR ".join(
        f"({kind} = (SELECT id FROM {types} WHERE app_label = '{target._meta.app_label}'"  # noqa: S608 - names of models  # nosec B608
        f" AND model = '{target._meta.model_name}') AND EXISTS (SELECT 1 FROM {_quoted(target._meta.db_table)} target"
        f" WHERE target.{_quoted(_pk(target).column)}::text = {value}::text))"
        for target in targets
    )


def _declared_condition(host: Model, model: Model, names: list[str], source: str, depth: int = 1) -> str:
    """Return SQL for a declared lookup over foreign keys, from a row of `model` that SQL calls `source`."""
    field = _field(model, names[0])
    column, rest = f"{source}.{_quoted(field.column)}", [name for name in names[1:] if name != "pk"]
    parent = field.related_model
    if parent is None or (not rest and field.target_field.primary_key):
        if parent is Tenant:
            return f"{column} = {_VISIBLE_IDS}"
        return f"{column} = {_visible_host_keys(host, field.target_field if parent else field)}"
    step = f"way{depth}"  # names of the relations could be longer than PostgreSQL takes
    holds = _declared_condition(host, parent, rest or ["pk"], _quoted(step), depth + 1)
    table, target = _quoted(parent._meta.db_table), f"{_quoted(step)}.{_quoted(field.target_field.column)}"
    return f"EXISTS (SELECT 1 FROM {table} {_quoted(step)} WHERE {target} = {column} AND {holds})"  # noqa: S608  # nosec B608


def _field(model: Any, name: str) -> Any:
    return model._meta.pk if name == "pk" else model._meta.get_field(name)


def _pk(model: Any) -> Any:
    return model._meta.pk


def _visible_host_keys(host: Model, column: Any = None) -> str:
    """Return SQL for the host's keys of the visible tenants: the policy of our tenants' table filters the subquery.

    They have the type of `column`, by default that of the host's primary key.
    """
    kind, tenants = (column or _pk(host)).rel_db_type(connection), _quoted(Tenant._meta.db_table)
    keys = f"SELECT array_agg(external_id::{kind}) FROM {tenants} WHERE external_id IS NOT NULL"  # noqa: S608  # nosec B608
    return f"ANY (({keys})::{kind}[])"


def _has_parent(model: Model, key: Key) -> str:
    """Return SQL that is true for rows whose parent is visible: the parent's policy filters the subquery."""
    parent, column = _quoted(key.related_model._meta.db_table), _quoted(str(key.target_field.column))
    child = _column(model, key.column)
    return f"EXISTS (SELECT 1 FROM {parent} parent WHERE parent.{column} = {child})"  # noqa: S608 - names of models  # nosec B608


def _column(model: Model, column: str) -> str:
    return f"{_quoted(model._meta.db_table)}.{_quoted(column)}"


def _keys(model: Any) -> Iterator[Key]:
    return (field for field in model._meta.local_concrete_fields if isinstance(field, models.ForeignKey))


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)
