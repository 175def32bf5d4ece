"""PostgreSQL's row-level security as a second defence: a query without a tenant filter finds no other tenant's rows.

Every table whose rows lead to a tenant gets a policy, forced for its owner too, that compares them with the session
variable `assistant.tenants`. Each statement sets that variable in the same message, for only its own transaction, so
that a pooled connection never keeps a tenant.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, ProgrammingError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from assistant import optional_apps
from assistant.contrib.row_level_security.protected_tables import VARIABLE, VISIBLE, ProtectedTable, protected_tables
from assistant.services.db.write_probe import FAILED
from assistant.services.errors import describe_outage
from assistant.services.tenancy.row_scope import NO_TENANTS, visible_tenants

logger = logging.getLogger(__name__)

POLICY, SHARED_POLICY = "tenant_rows", "shared_rows"
# Statements that touch no rows. PostgreSQL accepts only the first three in a failed transaction, and the others only as
# the sole statement of a message.
_WITHOUT_ROWS = (
    "SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK", "CREATE DATABASE", "DROP DATABASE", "VACUUM",
    "CREATE INDEX CONCURRENTLY", "CREATE UNIQUE INDEX CONCURRENTLY", "DROP INDEX CONCURRENTLY",
)  # fmt: skip

# PostgreSQL's error code for a missing privilege.
_INSUFFICIENT_PRIVILEGE = "42501"

_ALL_VISIBLE = f"{VISIBLE} = '*'"


class SettingMismatch(Exception):
    """The database does not match the setting ASSISTANT_ROW_LEVEL_SECURITY; the message is for the operator."""


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


@transaction.atomic
def install(*, role: str, with_host: bool = False) -> list[str]:
    """Create the policies of every protected table and grant `role` access to all tables. May be repeated.

    A role that does not exist is created with LOGIN; the operator sets its password. `with_host` protects the host
    project's own tables too, which stay as they are otherwise.

    Returns:
        The names of the tables.

    Raises:
        ValueError: the role is a superuser or bypasses row-level security, does not exist and cannot be created by this
            connection's role, or the database is not PostgreSQL.
    """
    _require_postgresql()
    tables = [one for one in protected_tables() if with_host or not one.is_hosts]
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
    """Drop the policies; return the names of the tables that had them. Others may have a project's own."""
    _require_postgresql()
    with connection.cursor() as cursor:
        cursor.execute("SELECT polrelid::regclass::text FROM pg_policy WHERE polname = %s", [POLICY])
        named = {name.strip('"') for (name,) in cursor.fetchall()}
        tables = [one for one in protected_tables() if one.table in named]
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
        raise ValueError(f"the role {role!r} is a superuser or bypasses row-level security")


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


def _statements(one: ProtectedTable) -> Iterator[str]:
    table, condition = _quoted(one.table), f"{_ALL_VISIBLE} OR ({one.condition})"
    yield from _dropped(one)
    yield from _altered(one, "ENABLE")
    yield from _altered(one, "FORCE")
    yield f"CREATE POLICY {POLICY} ON {table} USING ({condition}) WITH CHECK ({condition})"
    if one.is_shared_without_tenant:
        yield f"CREATE POLICY {SHARED_POLICY} ON {table} FOR SELECT USING (tenant_id IS NULL)"


def _altered(one: ProtectedTable, verb: str) -> Iterator[str]:
    yield f"ALTER TABLE {_quoted(one.table)} {verb} ROW LEVEL SECURITY"


def _dropped(one: ProtectedTable) -> Iterator[str]:
    for policy in (POLICY, SHARED_POLICY):
        yield f"DROP POLICY IF EXISTS {policy} ON {_quoted(one.table)}"


def count_protected() -> int:
    """Return how many tables have a forced policy."""
    return len(_tables_with_policy())


def _tables_with_policy() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class JOIN pg_policy ON polrelid = pg_class.oid"
            " WHERE relrowsecurity AND relforcerowsecurity AND polname = %s AND relnamespace = 'public'::regnamespace",
            [POLICY],
        )
        return {name for (name,) in cursor.fetchall()}


def find_problems() -> list[str]:
    """Return why row-level security would not apply to this connection's role; empty if it applies."""
    if connection.vendor != "postgresql":
        return ["The database is not PostgreSQL."]
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
        is_above = cursor.fetchone()[0]
    protected = _tables_with_policy()
    found = ["The role is a superuser or bypasses row-level security."] if is_above else []
    tables = protected_tables()
    with_host = any(one.is_hosts and one.table in protected for one in tables)
    unprotected = [one.table for one in tables if one.table not in protected and (with_host or not one.is_hosts)]
    if unprotected:
        found.append(f"These tables have no forced policy: {', '.join(unprotected)}.")
    if closed := _tables_without_rights():
        found.append(
            f"The role may not use these tables: {', '.join(closed)}. Run assistant_row_level_security install again."
        )
    return found


def _tables_without_rights() -> list[str]:
    """Return the product's tables that this connection's role may not read and write: those of new migrations."""
    ours = [model._meta.db_table for model in optional_apps.own_models()]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relkind = 'r' AND EXISTS ("
            " SELECT 1 FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) wanted"
            " WHERE NOT has_table_privilege(oid, wanted)) ORDER BY relname",
            [ours],
        )
        return [name for (name,) in cursor.fetchall()]


def find_hidden_rows() -> list[str]:
    """Return why row-level security hides all tenants' rows from the current code; empty if it does not."""
    if settings.ASSISTANT_ROW_LEVEL_SECURITY and visible_tenants() != NO_TENANTS:
        return []
    if connection.vendor != "postgresql" or not _has_active_policy():
        return []
    if settings.ASSISTANT_ROW_LEVEL_SECURITY:
        return ["Row-level security hides all rows, because no tenant is set. Let manage.py run in all_tenants()."]
    return [
        "Row-level security hides all tenants' rows from this database role, because ASSISTANT_ROW_LEVEL_SECURITY is"
        " not true here. Set ASSISTANT_ROW_LEVEL_SECURITY=true in every environment that reaches this database."
    ]


def _has_active_policy() -> bool:
    """Return whether row-level security is active for this connection's role on any protected table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM unnest(%s::text[]) AS name"
            " WHERE row_security_active(to_regclass(quote_ident(name))::oid))",
            [[one.table for one in protected_tables()]],
        )
        return bool(cursor.fetchone()[0])


@cache
def check_setting() -> None:
    """Check once that the database matches ASSISTANT_ROW_LEVEL_SECURITY.

    Raises:
        SettingMismatch: it does not, in either direction. The next call checks again.
    """
    found = find_problems() if settings.ASSISTANT_ROW_LEVEL_SECURITY else find_hidden_rows()
    if found:
        raise SettingMismatch(" ".join(found))


def readiness() -> str | None:
    """Return what `readyz` says: nothing while the database matches the setting, else that it failed."""
    try:
        check_setting()
    except SettingMismatch as exc:
        logger.error("The database does not match ASSISTANT_ROW_LEVEL_SECURITY: %s", exc)
        return FAILED
    except DatabaseError as exc:
        logger.error("Not ready: row-level security could not be checked: %s", describe_outage(exc))
        return FAILED
    return None


def _require_postgresql() -> None:
    if connection.vendor != "postgresql":
        raise ValueError("row-level security needs PostgreSQL")


def wrap_statements() -> None:
    """Wrap every statement on PostgreSQL connections from now on in `with_tenants`."""
    connection_created.connect(_add_wrapper, dispatch_uid="row-level-security")


def _add_wrapper(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.vendor == "postgresql" and with_tenants not in connection.execute_wrappers:
        connection.execute_wrappers.append(with_tenants)


def with_tenants(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Execute a statement and the setting of its tenants in one message, transaction and round trip."""
    statement = sql if isinstance(sql, str) else sql.as_string(context["cursor"].cursor)
    if statement.startswith(_WITHOUT_ROWS):
        return execute(sql, params, many, context)
    cursor = context["cursor"].cursor
    if getattr(cursor, "name", None):
        raise ImproperlyConfigured("Row-level security needs DISABLE_SERVER_SIDE_CURSORS in the database's settings.")
    setting = f"SELECT set_config('{VARIABLE}', '{visible_tenants()}', true); "
    if not many:
        execute(setting + statement, params, False, context)
        cursor.nextset()
        return None
    # The driver may send the repetitions in a pipeline, which allows one statement per message.
    with transaction.atomic(using=context["connection"].alias):
        execute(setting, None, False, context)
        return execute(sql, params, True, context)
