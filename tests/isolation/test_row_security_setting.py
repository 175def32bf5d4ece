"""If ASSISTANT_ROW_LEVEL_SECURITY does not match the database, commands refuse to run and servers are not ready."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from django.contrib.auth.models import User
from django.core.checks import CheckMessage, Tags, run_checks
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from assistant.contrib.row_level_security import policies as row_level_security
from assistant.services.tenancy.row_scope import all_tenants, tenant_scope
from tests.base import Cast
from tests.isolation.restricted_role import served_as
from tests.isolation.test_row_security import COMMANDS
from tests.live import serve

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]


@pytest.fixture
def policies(cast: Cast) -> Iterator[str]:
    """Policies that apply to this test's connection too, the tables' owner. Yields the application's role."""
    name = f"{connection.settings_dict['NAME']}_said"
    row_level_security.install(role=name)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER ROLE {name} PASSWORD '{name}'")
        cursor.execute(f"GRANT {name} TO CURRENT_USER")
    row_level_security.check_setting.cache_clear()
    yield name
    row_level_security.check_setting.cache_clear()
    row_level_security.remove()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {name}")
        cursor.execute(f"DROP ROLE {name}")


def readiness() -> tuple[int, str]:
    answer = Client().get("/readyz")
    return answer.status_code, answer.json()["checks"].get("row_level_security", "not told of")


def database_checks() -> list[CheckMessage]:
    with all_tenants():
        return run_checks(tags=[Tags.database], include_deployment_checks=True, databases=["default"])


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_commands_refuse_to_run_if_all_rows_are_hidden(words: tuple[str, ...], policies: str, tmp_path: Path) -> None:
    before = list(User.objects.order_by("pk").values())
    with pytest.raises(CommandError, match="Set ASSISTANT_ROW_LEVEL_SECURITY=true"):
        call_command(*(word.format(folder=tmp_path) for word in words))
    assert list(User.objects.order_by("pk").values()) == before
    assert list(tmp_path.iterdir()) == []


def test_commands_run_again_without_the_policies(policies: str) -> None:
    row_level_security.remove()
    call_command("assistant_apply_retention")


def test_migrate_refuses_if_data_migrations_would_find_no_rows(
    policies: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match=r"assistant\.E004.*Set ASSISTANT_ROW_LEVEL_SECURITY=true"):
        call_command("migrate", skip_checks=False, verbosity=0)
    settings.ASSISTANT_ROW_LEVEL_SECURITY = True
    monkeypatch.setitem(settings.DATABASES["default"], "DISABLE_SERVER_SIDE_CURSORS", True)
    with all_tenants():
        call_command("migrate", skip_checks=False, verbosity=0)


def test_migrate_refuses_without_a_tenant_scope(policies: str, settings: Settings) -> None:
    settings.ASSISTANT_ROW_LEVEL_SECURITY = True
    with tenant_scope(), pytest.raises(CommandError, match="no tenant is set"):
        call_command("migrate", skip_checks=False, verbosity=0)


def test_the_status_reports_a_missing_setting(policies: str) -> None:
    with pytest.raises(CommandError, match="Set ASSISTANT_ROW_LEVEL_SECURITY=true"):
        call_command("assistant_row_level_security", "status")


def test_a_server_that_would_find_no_rows_is_not_ready(policies: str) -> None:
    env = served_as(policies) | {"ASSISTANT_ROW_LEVEL_SECURITY": "false"}
    with serve(env=env) as server:
        with pytest.raises(HTTPError, match="503"):
            urlopen(f"{server.url}/readyz")
        assert "Set ASSISTANT_ROW_LEVEL_SECURITY=true" in server.log


def test_a_server_that_matches_the_database_is_ready(policies: str) -> None:
    with serve(env=served_as(policies)) as server:
        server.wait_ready("/readyz")


def test_a_server_is_not_ready_while_a_table_lacks_its_policy(
    policies: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ASSISTANT_ROW_LEVEL_SECURITY = True
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE assistant_run NO FORCE ROW LEVEL SECURITY")
    assert readiness() == (503, "failed")
    assert "no forced policy: assistant_run." in caplog.text
    assert [(found.id, "assistant_run" in found.msg) for found in database_checks()] == [("assistant.W004", True)]
    row_level_security.install(role=policies)
    assert readiness() == (200, "not told of")
    assert database_checks() == []


def test_a_successful_check_is_not_repeated(policies: str, settings: Settings) -> None:
    settings.ASSISTANT_ROW_LEVEL_SECURITY = True
    row_level_security.check_setting()
    with CaptureQueriesContext(connection) as asked:
        row_level_security.check_setting()
    assert len(asked) == 0


def test_the_error_names_the_statement_for_a_superuser_if_no_role_can_be_created(policies: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET ROLE {policies}")
    try:
        with pytest.raises(CommandError, match=r'CREATE ROLE "another" LOGIN NOSUPERUSER NOBYPASSRLS .*;'):
            call_command("assistant_row_level_security", "install", "--role", "another")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE")


def test_a_table_that_the_role_may_not_use_is_named(policies: str) -> None:
    """A migration can add one after the policies were installed; it needs no policy if it belongs to no tenant."""
    assert row_level_security.find_problems() == []
    with connection.cursor() as cursor:
        cursor.execute(f"REVOKE INSERT ON assistant_erasedtenant FROM CURRENT_USER, {policies}")
    problems = row_level_security.find_problems()
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT INSERT ON assistant_erasedtenant TO CURRENT_USER, {policies}")
    assert problems == [
        "The role may not use these tables: assistant_erasedtenant. Run assistant_row_level_security install again."
    ]
