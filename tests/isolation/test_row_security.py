"""Row-level security alone separates tenants: without the application's filters, no foreign row is found."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone

from assistant.contrib.bundles.services.export import bundle_of_tenant, text_of
from assistant.contrib.bundles.services.imports import import_bundle
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.contrib.row_level_security import policies as row_level_security
from assistant.models import Conversation, Provider, Run
from assistant.services.run_key import key_of
from assistant.services.runs.checkpoints import store_checkpoints
from assistant.services.runs.leases import Checkpoint, checkpoint_runs
from assistant.services.tenancy.row_scope import tenant_scope
from tests.base import Cast
from tests.factories import make_conversation, make_provider, make_run
from tests.isolation.planting import plant, rows_of, tenant_models, tenant_path
from tests.isolation.restricted_role import as_application, role, served_as
from tests.isolation.test_http import reads
from tests.isolation.visiting import Visitor
from tests.live import serve

__all__ = ["as_application", "role"]

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]


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
    call_command("assistant_row_level_security", "status")
    assert "forced" in capsys.readouterr().out
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        cursor.execute("ALTER TABLE assistant_run NO FORCE ROW LEVEL SECURITY")
        cursor.execute(f"SET ROLE {role}")
    with pytest.raises(CommandError, match="no forced policy: assistant_run"):
        call_command("assistant_row_level_security", "status")


WITH_SHARED = '"default_provider": {"name": "Shared", "of": "deployment"}'
COMMANDS = (
    ("assistant_create_api_key", "acme", "alice"),
    ("assistant_create_tenant", "initech", "--name", "Initech", "--owner", "alice"),
    ("assistant_tools", "--tenant", "acme", "--user", "alice"),
    ("assistant_allow_origin", "acme", "support", "https://shop.example.com"),
    ("assistant_apply_retention",),
    ("assistant_bundle", "export", "acme"),
    ("assistant_rotate_encryption",),
    ("assistant_deliver_webhooks",),
    ("assistant_chat", "acme", "support"),
    ("assistant_export_tenant", "acme", "--file", "{folder}/acme.zip", "--by", "amy"),
    ("assistant_export_user", "alice", "--file", "{folder}/alice.zip", "--by", "amy"),
    ("assistant_delete_user", "alice", "--by", "amy", "--noinput"),
    ("assistant_delete_tenant", "acme", "--by", "amy", "--noinput"),
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
        call_command("assistant_rotate_encryption")
    assert "assistant.Provider.api_key: 0 encrypted again, 1 were up to date" in capsys.readouterr().out


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
