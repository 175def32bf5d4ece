"""PostgreSQL's row-level security as the second line: a query that forgot its tenant still finds no other's rows.

Every table whose rows lead to a tenant gets a policy, forced upon its owner too, that compares them with the session
variable `assistant.tenants`. Each statement brings that variable along in its own message and sets it for the
transaction it runs in alone, so that no connection remembers a tenant, whoever uses it next and whatever pools it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError, connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from assistant.models import Tenant
from assistant.services.tenancy.row_scope import NOBODY, tenants_in_sight

VARIABLE = "assistant.tenants"
POLICY, SHARED_POLICY = "tenant_rows", "shared_rows"
# They say nothing of rows, and a transaction that has failed takes only these.
_BARE = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK")

# PostgreSQL's code for what a role may not do.
_INSUFFICIENT_PRIVILEGE = "42501"

_SEEN = f"(SELECT current_setting('{VARIABLE}', true))"
# Subqueries, so that both are read once a statement and not once a row.
_SEES_ALL = f"{_SEEN} = '*'"
_SEEN_IDS = f"ANY ((SELECT string_to_array(nullif(current_setting('{VARIABLE}', true), '*'), ',')::bigint[])::bigint[])"


class Disagreement(Exception):
    """The setting ROW_LEVEL_SECURITY and the database say different things; its text is for the operator."""


@dataclass(frozen=True, slots=True)
class Protected:
    """A table whose rows belong to tenants; `belongs` is SQL that is true of those that may be seen."""

    table: str
    belongs: str
    is_shared_without_tenant: bool = False


def protected_tables() -> list[Protected]:
    """Every table whose rows lead to a tenant, found from the models."""
    found = [_protected(model) for model in apps.get_models(include_auto_created=True) if not model._meta.proxy]
    return sorted((one for one in found if one is not None), key=lambda one: one.table)


def _protected(model: type[models.Model]) -> Protected | None:
    if model is Tenant:
        return Protected(model._meta.db_table, f"{_quoted('id')} = {_SEEN_IDS}")
    keys = [field for field in model._meta.local_concrete_fields if isinstance(field, models.ForeignKey)]
    own = next((key for key in keys if key.related_model is Tenant), None)
    if own is not None:
        belongs = f"{_quoted(own.column)} = {_SEEN_IDS}"
        # Without a tenant a provider is everybody's to ask; any other such row is the deployment's own.
        return Protected(model._meta.db_table, belongs, own.null and model._meta.label == "assistant.Provider")
    parents = [key for key in keys if _leads_to_tenant(key.related_model, (model,)) and not key.null]
    if not parents:
        return None
    return Protected(model._meta.db_table, " AND ".join(_has_parent(model, key) for key in parents))


def _has_parent(model: type[models.Model], key: models.ForeignKey[Any, Any]) -> str:
    """True of rows whose parent is in sight: the parent's own policy decides which the subquery finds."""
    parent, column = _quoted(key.related_model._meta.db_table), _quoted(str(key.target_field.column))
    child = f"{_quoted(model._meta.db_table)}.{_quoted(key.column)}"
    return f"EXISTS (SELECT 1 FROM {parent} parent WHERE parent.{column} = {child})"  # noqa: S608 - names of models  # nosec B608


def _leads_to_tenant(model: Any, seen: tuple[Any, ...]) -> bool:
    if model is Tenant:
        return True
    if model in seen:
        return False
    keys = [field for field in model._meta.local_concrete_fields if isinstance(field, models.ForeignKey)]
    return any(key.related_model is Tenant for key in keys) or any(
        _leads_to_tenant(key.related_model, (*seen, model)) for key in keys if not key.null
    )


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


@transaction.atomic
def install(*, role: str) -> list[str]:
    """Put the policies on every protected table, and grant `role` the use of the tables; safe to repeat.

    A role that does not exist is made; it may log in, and its password is the operator's to set.

    Returns:
        The tables.

    Raises:
        ValueError: the role is a superuser or bypasses row-level security, it is not there and this connection's may
            not make it, or the database is no PostgreSQL.
    """
    _need_postgresql()
    tables = protected_tables()
    with connection.cursor() as cursor:
        _prepare_role(cursor, role)
        for one in tables:
            for statement in _statements(one):
                cursor.execute(statement)
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {_quoted(role)}")
        cursor.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {_quoted(role)}")
        cursor.execute(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {_quoted(role)}")
    return [one.table for one in tables]


@transaction.atomic
def remove() -> list[str]:
    """Take the policies off again. Returns the tables."""
    _need_postgresql()
    tables = protected_tables()
    with connection.cursor() as cursor:
        for one in tables:
            for statement in (*_dropped(one), *_altered(one, "NO FORCE"), *_altered(one, "DISABLE")):
                cursor.execute(statement)
    return [one.table for one in tables]


def _prepare_role(cursor: Any, role: str) -> None:
    cursor.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", [role])
    found = cursor.fetchone()
    if found is None:
        _create_role(cursor, role)
    elif found[0]:
        raise ValueError(f"the role {role!r} is a superuser or bypasses row-level security: nothing would hold it")


def _create_role(cursor: Any, role: str) -> None:
    statement = f"CREATE ROLE {_quoted(role)} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE"
    try:
        cursor.execute(statement)
    except ProgrammingError as exc:
        if getattr(exc.__cause__, "sqlstate", None) != _INSUFFICIENT_PRIVILEGE:
            raise
        raise ValueError(
            f"This database role may not make others. Let a superuser run\n\n    {statement};\n\nand install again."
        ) from exc


def _statements(one: Protected) -> Iterator[str]:
    table, belongs = _quoted(one.table), f"{_SEES_ALL} OR ({one.belongs})"
    yield from _dropped(one)
    yield from _altered(one, "ENABLE")
    yield from _altered(one, "FORCE")
    yield f"CREATE POLICY {POLICY} ON {table} USING ({belongs}) WITH CHECK ({belongs})"
    if one.is_shared_without_tenant:
        yield f"CREATE POLICY {SHARED_POLICY} ON {table} FOR SELECT USING (tenant_id IS NULL)"


def _altered(one: Protected, verb: str) -> Iterator[str]:
    yield f"ALTER TABLE {_quoted(one.table)} {verb} ROW LEVEL SECURITY"


def _dropped(one: Protected) -> Iterator[str]:
    for policy in (POLICY, SHARED_POLICY):
        yield f"DROP POLICY IF EXISTS {policy} ON {_quoted(one.table)}"


def problems() -> list[str]:
    """Why row-level security would not hold this connection's role; nothing if it does."""
    if connection.vendor != "postgresql":
        return ["The database is no PostgreSQL."]
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
        is_above = cursor.fetchone()[0]
        cursor.execute(
            "SELECT relname FROM pg_class JOIN pg_policy ON polrelid = pg_class.oid"
            " WHERE relrowsecurity AND relforcerowsecurity AND polname = %s AND relnamespace = 'public'::regnamespace",
            [POLICY],
        )
        held = {name for (name,) in cursor.fetchall()}
    found = ["The role is a superuser or bypasses row-level security."] if is_above else []
    bare = [one.table for one in protected_tables() if one.table not in held]
    return found + ([f"These tables have no forced policy: {', '.join(bare)}."] if bare else [])


def hiding() -> list[str]:
    """Why the code that runs now would find no tenant's rows, and take that for an answer; nothing if it finds them."""
    if settings.ROW_LEVEL_SECURITY and tenants_in_sight() != NOBODY:
        return []
    if connection.vendor != "postgresql" or not _is_held():
        return []
    if settings.ROW_LEVEL_SECURITY:
        return ["Row-level security hides all rows, since no tenant is in sight. Let manage.py run in all_tenants()."]
    return [
        "Row-level security hides all tenants' rows from this database role, since ROW_LEVEL_SECURITY is not true here."
        " Set ROW_LEVEL_SECURITY=true in every environment that reaches this database."
    ]


def _is_held() -> bool:
    """Whether policies hold this connection's role, as PostgreSQL itself sees it, on any protected table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM unnest(%s::text[]) AS name"
            " WHERE row_security_active(to_regclass(quote_ident(name))::oid))",
            [[one.table for one in protected_tables()]],
        )
        return bool(cursor.fetchone()[0])


@cache
def need_agreement() -> None:
    """See that the database does what ROW_LEVEL_SECURITY says; once it does, this process asks no more.

    Raises:
        Disagreement: they say different things, in either direction.
    """
    found = problems() if settings.ROW_LEVEL_SECURITY else hiding()
    if found:
        raise Disagreement(" ".join(found))


def _need_postgresql() -> None:
    if connection.vendor != "postgresql":
        raise ValueError("row-level security needs PostgreSQL")


def hold_connections() -> None:
    """Let every statement on PostgreSQL say whose rows it may see, on all connections from now on."""
    connection_created.connect(_hold, dispatch_uid="row-level-security")


def _hold(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.vendor == "postgresql" and with_tenants not in connection.execute_wrappers:
        connection.execute_wrappers.append(with_tenants)


def with_tenants(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Execute a statement together with the setting of its tenants: one message, one transaction, one round trip."""
    statement = sql if isinstance(sql, str) else sql.as_string(context["cursor"].cursor)
    if statement.startswith(_BARE):
        return execute(sql, params, many, context)
    cursor = context["cursor"].cursor
    if getattr(cursor, "name", None):
        raise ImproperlyConfigured("Row-level security needs DISABLE_SERVER_SIDE_CURSORS in the database's settings.")
    setting = f"SELECT set_config('{VARIABLE}', '{tenants_in_sight()}', true); "
    if not many:
        execute(setting + statement, params, False, context)
        cursor.nextset()
        return None
    # A driver may send these in a pipeline, which takes one statement at a time.
    with transaction.atomic(using=context["connection"].alias):
        execute(setting, None, False, context)
        return execute(sql, params, True, context)
