"""The application's role, to which PostgreSQL's policies apply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.db import connection, connections
from django.db.backends.signals import connection_created
from pytest_django.fixtures import Settings

from assistant.contrib.row_level_security import policies as row_level_security
from assistant.contrib.row_level_security.policies import with_tenants
from assistant.services.tenancy.row_scope import all_tenants
from tests import live


@pytest.fixture
def role(transactional_db: None, settings: Settings) -> Iterator[str]:
    """The application's role, to which the policies apply; this test's own connection sees all tenants."""
    name = f"{connection.settings_dict['NAME']}_rows"
    row_level_security.install(role=name)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER ROLE {name} PASSWORD '{name}'")
        # No test needs its rows after a crash of the machine, so commits need not wait for the disk.
        cursor.execute(f"ALTER ROLE {name} SET synchronous_commit = off")
        # Only a superuser or a member of a role may act as it and drop its grants.
        cursor.execute(f"GRANT {name} TO CURRENT_USER")
    settings.ASSISTANT_ROW_LEVEL_SECURITY = True
    row_level_security.wrap_statements()
    with scoped_connections(), all_tenants():
        yield name
    connection_created.disconnect(dispatch_uid="row-level-security")
    row_level_security.remove()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {name}")
        cursor.execute(f"DROP ROLE {name}")


@contextmanager
def scoped_connections() -> Iterator[None]:
    """What ASSISTANT_ROW_LEVEL_SECURITY sets, for connections of this process."""
    before = connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]
    connections.close_all()
    connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = True
    yield
    connections.close_all()
    connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = before
    # A closed connection keeps its wrappers.
    for one in connections.all(initialized_only=True):
        one.execute_wrappers[:] = [wrapper for wrapper in one.execute_wrappers if wrapper is not with_tenants]


@pytest.fixture
def as_application(role: str) -> Iterator[None]:
    """Let this test's own connection act as the application's role."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET ROLE {role}")
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")


def served_as(role: str, *, is_held: bool = True) -> dict[str, str]:
    """The environment of a server that logs in as the application's role."""
    url = urlsplit(live.test_database_url())
    address = f"{role}:{role}@{url.hostname}:{url.port}"
    return {
        "TEST_DATABASE_URL": urlunsplit(url._replace(netloc=address)) if is_held else live.test_database_url(),
        "ASSISTANT_ROW_LEVEL_SECURITY": "true" if is_held else "false",
    }
