"""Row-level security alone separates tenants: without the application's filters, no foreign row is found."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, connections, transaction
from django.db.backends.signals import connection_created
from django.utils import timezone
from pytest_django.fixtures import Settings

from assistant.models import Conversation, Provider, Run
from assistant.services.bundles.export import bundle_of_tenant, text_of
from assistant.services.bundles.imports import import_bundle
from assistant.services.bundles.reading import read_bundle
from assistant.services.run_key import key_of
from assistant.services.runs.checkpoints import store_checkpoints
from assistant.services.runs.leases import Checkpoint, checkpoint_runs
from assistant.services.tenancy import row_level_security
from assistant.services.tenancy.members import create_api_key
from assistant.services.tenancy.row_level_security import with_tenants
from assistant.services.tenancy.row_scope import all_tenants, tenant_scope
from tests import live
from tests.agui import Frame
from tests.base import Cast
from tests.factories import make_conversation, make_provider, make_run
from tests.isolation.planting import CANARY, plant, rows_of, tenant_models, tenant_path
from tests.isolation.test_http import reads, writes
from tests.isolation.test_mcp import answers
from tests.isolation.test_websocket import frames_against, leaks, try_all
from tests.isolation.visiting import Visitor
from tests.live import Server, serve
from tests.ws import open_socket

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

UNFILTERED = "tests.isolation.sites.unfiltered_asgi:application"


@pytest.fixture
def role(transactional_db: None, settings: Settings) -> Iterator[str]:
    """The application's role, to which the policies apply; this test's own connection sees all tenants."""
    name = f"{connection.settings_dict['NAME']}_rows"
    row_level_security.install(role=name)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER ROLE {name} PASSWORD '{name}'")
        # Only a superuser or a member of a role may act as it and drop its grants.
        cursor.execute(f"GRANT {name} TO CURRENT_USER")
    settings.ROW_LEVEL_SECURITY = True
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
    """What ROW_LEVEL_SECURITY sets, for connections of this process."""
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
        "ROW_LEVEL_SECURITY": "true" if is_held else "false",
    }


def foreign_rows(cast: Cast) -> list[str]:
    """Return the rows of other tenants that a query without any filter finds."""
    return [
        f"{model.__name__} {pk}"
        for model in tenant_models()
        for pk, tenant in model._base_manager.values_list("pk", str(tenant_path(model)))
        if tenant not in (cast.globex.pk, None)
    ]


def test_every_table_of_a_tenants_rows_has_a_forced_policy(role: str) -> None:
    expected = {model._meta.db_table for model in tenant_models()}
    assert {one.table for one in row_level_security.protected_tables()} >= expected


def test_queries_without_a_filter_find_no_foreign_row(cast: Cast, as_application: None) -> None:
    plant(cast)
    with tenant_scope(cast.globex.pk):
        assert foreign_rows(cast) == []
        assert Conversation.objects.count() == 0 and cast.globex in type(cast.globex).objects.all()
    with tenant_scope(cast.acme.pk):
        seen = [model.__name__ for model in tenant_models() if not model._base_manager.exists()]
        assert seen == []


def test_without_the_policies_the_same_queries_find_many(cast: Cast, transactional_db: None) -> None:
    plant(cast)
    with tenant_scope(cast.globex.pk):
        assert len(foreign_rows(cast)) > len(tenant_models())


def test_without_a_tenant_scope_no_rows_are_visible(cast: Cast, as_application: None) -> None:
    plant(cast)
    with tenant_scope():
        assert [model.__name__ for model in tenant_models() if model._base_manager.exists()] in ([], ["Provider"])


def test_rows_of_another_tenant_are_neither_written_nor_deleted(cast: Cast, as_application: None) -> None:
    theirs = make_conversation(cast.alice, cast.support)
    before = rows_of(cast.acme)
    with tenant_scope(cast.globex.pk):
        assert Conversation.objects.filter(pk=theirs.pk).update(title="taken") == 0
        assert Conversation.objects.filter(pk=theirs.pk)._raw_delete(using="default") == 0
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            Conversation.objects.create(tenant=cast.acme, user=cast.alice, assistant=cast.support)
    assert rows_of(cast.acme) == before


def test_the_deployments_provider_can_be_read_but_not_changed_by_tenants(cast: Cast, as_application: None) -> None:
    shared = make_provider(base_url="https://model.example.com/v1")
    with tenant_scope(cast.globex.pk):
        assert Provider.objects.get() == shared
        assert Provider.objects.update(name="taken") == 0


def test_the_tenants_variable_is_reset_after_each_statement(cast: Cast, as_application: None) -> None:
    with tenant_scope(cast.acme.pk):
        assert type(cast.acme).objects.count() == 1
    with connection.connection.cursor() as bare:
        bare.execute("SELECT count(*) FROM assistant_tenant")
        assert bare.fetchone() == (0,)


def test_the_tenant_scope_lasts_after_a_failed_statement_and_a_rollback(cast: Cast, as_application: None) -> None:
    with tenant_scope(cast.globex.pk), transaction.atomic():
        with pytest.raises(ProgrammingError), transaction.atomic():
            Conversation.objects.create(tenant=cast.acme, user=cast.alice, assistant=cast.support)
        assert foreign_rows(cast) == []


def test_the_command_reports_whether_row_level_security_is_effective(
    role: str, capsys: Any, as_application: None
) -> None:
    call_command("row_level_security", "status")
    assert "forced" in capsys.readouterr().out
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        cursor.execute("ALTER TABLE assistant_run NO FORCE ROW LEVEL SECURITY")
        cursor.execute(f"SET ROLE {role}")
    with pytest.raises(CommandError, match="no forced policy: assistant_run"):
        call_command("row_level_security", "status")


WITH_SHARED = '"default_provider": {"name": "Shared", "of": "deployment"}'
COMMANDS = (
    ("create_api_key", "acme", "alice"),
    ("create_tenant", "initech", "--name", "Initech", "--owner", "alice"),
    ("tools", "--tenant", "acme", "--user", "alice"),
    ("allow_origin", "acme", "support", "https://shop.example.com"),
    ("apply_retention",),
    ("assistant_bundle", "export", "acme"),
    ("rotate_encryption",),
    ("deliver_webhooks",),
    ("chat", "acme", "support"),
    ("export_tenant", "acme", "--file", "{folder}/acme.zip", "--by", "amy"),
    ("export_user", "alice", "--file", "{folder}/alice.zip", "--by", "amy"),
    ("delete_user", "alice", "--by", "amy", "--noinput"),
    ("delete_tenant", "acme", "--by", "amy", "--noinput"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_commands_see_all_tenants_in_any_project(
    words: tuple[str, ...], cast: Cast, as_application: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    type(cast.amy).objects.filter(pk=cast.amy.pk).update(is_superuser=True)
    monkeypatch.setattr("sys.stdin", io.StringIO("Hello\n"))
    with tenant_scope():  # another project's manage.py sets no scope
        call_command(*(word.format(folder=tmp_path) for word in words))


def test_a_tenant_imports_a_bundle_among_its_own_rows(cast: Cast, as_application: None) -> None:
    make_provider(None, base_url="https://model.example.com/v1", name="Shared")
    with tenant_scope(cast.acme.pk):
        text = text_of(bundle_of_tenant(tenant=cast.acme)).replace('"default_provider": null', WITH_SHARED)
    bundle = read_bundle(text.encode())
    with tenant_scope(cast.globex.pk):
        done = import_bundle(bundle=bundle, tenant=cast.globex, actor=cast.greta)
        assert [one.section for one in done.of_kind("change", "refused")] == ["settings", "assistant"]


def test_a_key_rotation_in_any_project_finds_every_secret(cast: Cast, as_application: None, capsys: Any) -> None:
    make_provider(cast.acme, base_url="https://model.example.com/v1", api_key="sk-secret")
    with tenant_scope():
        call_command("rotate_encryption")
    assert "assistant.Provider.api_key: 0 encrypted again, 1 were up to date" in capsys.readouterr().out


def leaks_of(server: Server, cast: Cast, rows: Mapping[type, Any], *, most_queries: int | None = None) -> list[str]:
    """Return what another tenant sees at every address, with every MCP method and every websocket frame.

    `most_queries`: how many query strings an address is asked with; None for all.
    """
    _, key = create_api_key(tenant=cast.globex, user=cast.mallory, name="hers")
    visits = list(reads(Visitor(server.url, cast.greta), rows, most_queries=most_queries))
    calls = list(answers(server, key, rows))
    frames = asyncio.run(frames_of(server, key, rows))
    found = [str(one) for one in visits if one.leaks] + [door for door, body in calls if CANARY in body]
    found += [f"websocket/{frame['type']}/{frame.get('name', '')}/" for frame in leaks(frames)]
    tries = len(visits) + len(calls) + sum(map(len, frames_against(talk_of(rows)).values()))
    print(f"\nunfiltered: {tries} tries, {len(found)} leaks")
    return found


def planted(cast: Cast) -> dict[type, Any]:
    """Rows as of `plant`, except the run's id, which frames repeat to the client that sent it."""
    rows: dict[type, Any] = {**plant(cast)}
    rows[Run].run_id = "run-of-acme"
    rows[Run].save(update_fields=["run_id"])
    return rows


def talk_of(rows: Mapping[type, Any]) -> Frame:
    """Return the ids that a client needs to name a planted conversation over a websocket."""
    # The id of a planted message has the canary, and is repeated to whoever sends it.
    said = {"id": "x", "role": "assistant", "content": "taken"}
    return {"threadId": str(rows[Conversation].pk), "runId": rows[Run].run_id, "messages": [said]}


async def frames_of(server: Server, key: str, rows: Mapping[type, Any]) -> list[Frame]:
    """Return what another tenant's websocket receives for frames of every type with ids of planted rows."""
    async with open_socket(server.url, tenant="globex", key=key) as mallory:
        # Where a leak is expected, a busy machine must not hide it.
        return await try_all(mallory, talk_of(rows), quiet=4.0)


def test_a_site_without_filters_shows_and_changes_no_foreign_row(cast: Cast, role: str) -> None:
    rows = planted(cast)
    before = rows_of(cast.acme)
    with serve(application=UNFILTERED, env=served_as(role)) as server:
        assert leaks_of(server, cast, rows) == []
        list(writes(Visitor(server.url, cast.mallory), rows))
        assert rows_of(cast.acme) == before


def test_a_site_without_filters_leaks_without_policies(cast: Cast, transactional_db: None) -> None:
    rows = planted(cast)
    with serve(application=UNFILTERED) as server:
        # One query string each is enough to show that leaks are found.
        found = leaks_of(server, cast, rows, most_queries=1)
    doors = {door.split("?")[0].rsplit("/", 2)[0] for door in found}
    assert len(doors) > 10 and {door.partition("/")[0] for door in doors} > {"websocket"}, doors


def test_the_real_site_works_under_the_policies(cast: Cast, role: str) -> None:
    rows = plant(cast)
    with serve(env=served_as(role)) as server:
        visits = list(reads(Visitor(server.url, cast.amy), rows))
        shown = {one.door.split("?")[0] for one in visits if one.leaks}
        assert [str(one) for one in visits if one.status >= 500] == []
    assert shown >= {f"GET /admin/assistant/{name}/" for name in ("conversation", "run", "toolcall", "assistant")}


@pytest.mark.usefixtures("as_application")
def test_checkpoints_are_stored_in_the_scope_of_their_tenant(cast: Cast) -> None:
    talks = [make_conversation(cast.alice, cast.support) for _ in range(4)]
    held = {"status": Run.Status.RUNNING, "lease_owner": "me", "lease_until": timezone.now()}
    keys = [key_of(make_run(talk, **held), "me") for talk in talks]
    due = [Checkpoint(key, {"said": key.run_id}, 7) for key in keys]
    with tenant_scope(cast.globex.pk):
        assert checkpoint_runs(tenant_id=cast.acme.pk, checkpoints=due) == set()
    with tenant_scope():
        assert store_checkpoints(due) == [False] * 4
    assert list(Run.objects.filter(pk__in=[key.pk for key in keys]).values_list("checkpoint_seq", flat=True)) == [7] * 4
