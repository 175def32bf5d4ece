"""Erasure of tenants and users: complete, and no table, file or event log has a trace afterwards."""

from __future__ import annotations

import io
import json
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import redis
from django.apps import apps
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.test import Client

from assistant.contrib.end_users.models import EndUser
from assistant.contrib.end_users.services.tokens import save_end_user
from assistant.models import AuditEntry, Conversation, Message, Tenant, ToolCall, ToolFile, UsageEntry
from assistant.models.people import PersonSettings
from assistant.models.signin import SignInCount, SignInDevice
from assistant.models.tenants import ErasedTenant
from assistant.models.toolblocks import ToolBlock
from assistant.services.privacy import erasure
from assistant.services.privacy.erasure import erase_tenant, erase_user
from assistant.services.privacy.ownership import owned_models
from assistant.services.tenancy import audit_trail
from tests.base import Cast
from tests.factories import make_conversation, make_member, make_run
from tests.isolation.planting import CANARY, CANARY_HEAD, plant, rows_of
from tests.redis_log import STREAM

# Not searched: these rows hold no text of the person.
MENTIONS = {
    "assistant.ToolCall.decided_by",
    "assistant.UsageEntry.user",
    "assistant.AuditEntry.actor",
    "assistant_evaluations.Evaluation.created_by",
    "assistant_evaluations.Evaluation.run_as",
    "assistant_evaluations.EvaluationCase.judged_by",
    "assistant.PromptVersion.created_by",
    "assistant.Incident.user",
    "assistant.Job.created_by",
    "assistant_evaluations.HostileCheckRun.created_by",
    "assistant_evaluations.HostileCheckRun.run_as",
    "assistant_evaluations.HostileCheck.created_by",
    "assistant.ToolBlock.actor",
    "assistant_data.ReachReview.user",
    "assistant_invitations.Invitation.invited_by",
    "assistant_tool_requests.ToolRequest.answered_by",
    "assistant_change_sets.ChangeSet.created_by",
    "assistant_change_sets.ChangeSet.submitted_by",
    "assistant_change_sets.ChangeSet.approved_by",
    "assistant_gaps.QuestionLabel.created_by",
    "assistant_improvements.Annotation.author",
    "assistant_improvements.ProblemGroup.changed_by",
    "assistant_panel.SpendSum.user",
}


def found_in(text: str) -> list[str]:
    """Every table of the database, also those of indexes, with a row that contains the text."""
    tables = []
    with connection.cursor() as cursor:
        for name in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{name}"')
            if any(text in _shown(value) for row in cursor.fetchall() for value in row):
                tables.append(name)
    return tables


def _shown(value: object) -> str:
    return bytes(value).decode("latin-1") if isinstance(value, bytes | memoryview) else str(value)


def run(*arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def planted(cast: Cast) -> Cast:
    """Acme with canaries in every row, entries of the admin log about its rows, and sessions of its members."""
    rows = plant(cast)
    for row in rows.values():
        kind = ContentType.objects.get_for_model(row)
        LogEntry.objects.create(
            user=cast.root, content_type=kind, object_id=row.pk, object_repr=CANARY, action_flag=CHANGE
        )
    gone = ContentType.objects.get_for_model(Message)
    LogEntry.objects.create(
        user=cast.root, content_type=gone, object_id="987654", object_repr=CANARY, action_flag=CHANGE
    )
    Client().force_login(cast.alice)
    return cast


def test_a_deleted_tenant_leaves_nothing(planted: Cast) -> None:
    people = [planted.alice.pk, planted.amy.pk]
    assert len(found_in(CANARY)) > 25
    rival = rows_of(planted.globex)
    counts = erase_tenant(tenant=planted.acme, actor=planted.root)
    assert found_in(CANARY_HEAD) == []
    assert not get_user_model().objects.filter(pk__in=people).exists()
    assert rows_of(planted.globex) == rival
    assert counts["assistant.Tenant"] == 1
    entry = AuditEntry.objects.get(action="tenant.erase")
    assert (entry.actor, entry.tenant, entry.details["rows"]) == (planted.root, None, counts)


def test_a_dry_run_counts_the_rows_and_deletes_nothing(planted: Cast) -> None:
    before = rows_of(planted.acme)
    told = run("assistant_delete_tenant", "acme", "--by", "root", "--dry-run")
    assert rows_of(planted.acme) == before
    expected = dict(reversed(line.split()) for line in told.splitlines())
    counts = erase_tenant(tenant=planted.acme, actor=planted.root)
    assert {name: str(number) for name, number in counts.items()} == expected


def test_a_user_of_another_tenant_too_is_kept(cast: Cast) -> None:
    cast.globex.memberships.create(user=cast.alice)
    erase_tenant(tenant=cast.acme, actor=cast.root)
    assert set(User.objects.values_list("username", flat=True)) == {"alice", "mallory", "greta", "oscar", "root"}


def test_a_deleted_user_leaves_nothing(planted: Cast, client: Client) -> None:
    alice = planted.alice
    name = planted.alice.username
    audit_trail.record(
        actor=planted.root, action="membership.add", target=f"{name} in Acme (Member)", tenant=planted.acme,
        details={"changes": [{"added": {"name": "membership", "object": name}}]},
    )  # fmt: skip
    other = make_conversation(planted.amy, planted.support, title="Amy's own")
    client.force_login(alice)
    assert "django_session" in found_in(client.session.session_key)
    counts = erase_user(user=alice, actor=planted.root)
    assert found_in(name) == []
    assert Conversation.objects.filter(tenant=planted.acme).get() == other
    assert "django_session" not in found_in(str(client.session.session_key))
    assert not Message.objects.exists() and not ToolFile.objects.exists() and not ToolCall.objects.exists()
    assert UsageEntry.objects.get().user is None
    assert counts["auth.User"] == 1
    entry = AuditEntry.objects.get(action="user.erase")
    assert (entry.target, entry.actor) == (f"user {alice.pk or entry.target.split()[1]}", planted.root)


def test_names_are_replaced_in_the_audit_but_not_within_words(cast: Cast) -> None:
    al = make_member(cast.acme, "ali")
    audit_trail.record(actor=cast.root, action="membership.add", target="ali in Acme, no alibi", tenant=cast.acme)
    pk = al.pk
    erase_user(user=al, actor=cast.root)
    assert AuditEntry.objects.get(action="membership.add").target == f"user {pk} in Acme, no alibi"


def test_names_in_any_script_are_replaced_in_the_audit(cast: Cast) -> None:
    person = make_member(cast.acme, "jürgen")
    changes = [{"added": {"name": "membership", "object": "JÜRGEN"}}]
    audit_trail.record(
        actor=cast.root, action="membership.add", target="acme", tenant=cast.acme, details={"changes": changes}
    )
    kind = ContentType.objects.get_for_model(cast.acme)
    LogEntry.objects.create(
        user=cast.root, content_type=kind, object_id=cast.acme.pk, object_repr="Acme", action_flag=CHANGE,
        change_message=json.dumps(changes),
    )  # fmt: skip
    pk = person.pk
    erase_user(user=person, actor=cast.root)
    assert AuditEntry.objects.get(action="membership.add").details["changes"][0]["added"]["object"] == f"user {pk}"
    assert json.loads(LogEntry.objects.get(object_repr="Acme").change_message)[0]["added"]["object"] == f"user {pk}"


def test_an_end_user_is_found_by_the_tenants_own_id(cast: Cast) -> None:
    save_end_user(tenant_id=cast.acme.pk, external_id="shop-77", name="Canary Customer", context={"a": "canary-x"})
    run("assistant_delete_user", "--end-user", "acme", "shop-77", "--by", "root", "--noinput")
    assert not EndUser.objects.exists()
    assert found_in("anary") == []


def test_an_end_user_is_known_as_one_until_the_account_is_deleted(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a deletion that was interrupted would go on as that of a host project's own account."""
    user = save_end_user(tenant_id=cast.acme.pk, external_id="shop-78", name="Sam", context={}).user
    whole = erasure._delete

    def interrupted(model: type[models.Model], pks: Sequence[Any]) -> Counter[str]:
        if model is User:
            raise RuntimeError("The server stopped.")
        return whole(model, pks)

    monkeypatch.setattr(erasure, "_delete", interrupted)
    with pytest.raises(RuntimeError):
        erase_user(user=user, actor=None)
    assert EndUser.objects.filter(user=user).exists()
    monkeypatch.undo()
    erase_user(user=user, actor=None)
    assert not User.objects.filter(pk=user.pk).exists()
    assert not EndUser.objects.exists()


def test_every_foreign_key_to_a_user_cascades_or_is_listed_here() -> None:
    emptied = {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        if not model._meta.proxy
        for field in model._meta.concrete_fields
        if (
            isinstance(field, models.ForeignKey)
            and field.related_model is get_user_model()
            and model not in owned_models(get_user_model())
        )
        or (
            isinstance(field, models.ForeignKey)
            and field.related_model is get_user_model()
            and field.remote_field.on_delete is models.SET_NULL
        )
    }
    assert emptied == MENTIONS


def test_every_table_of_ours_belongs_to_a_tenant() -> None:
    ours = {model for app in ("assistant", "tools") for model in apps.get_app_config(app).get_models()}
    # The number of a host project's tenant is kept, so that the tenant is not made again. Sign-ins are counted by
    # digests of names and addresses, for an hour; devices and own settings are people's. A tool is off for all tenants.
    known = {Tenant, ErasedTenant, PersonSettings, SignInCount, SignInDevice, ToolBlock}
    assert {model for model in ours if not model._meta.proxy} - set(owned_models(Tenant)) == known


@pytest.mark.services
def test_event_logs_are_deleted_with_their_conversations(cast: Cast) -> None:
    thread = make_conversation(cast.alice, cast.support)
    with redis.Redis.from_url(settings.ASSISTANT_REDIS_URL) as client:
        client.xadd(STREAM + str(thread.pk), {"f": CANARY})
        erase_tenant(tenant=cast.acme, actor=cast.root)
        assert not client.exists(STREAM + str(thread.pk))


def test_the_commands_name_errors_and_ask_for_confirmation(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, named in (
        (["assistant_delete_tenant", "nowhere", "--by", "root"], "nowhere"),
        (["assistant_delete_tenant", "acme", "--by", "amy"], "superuser"),
        (["assistant_delete_user", "--by", "root"], "--end-user"),
        (["assistant_delete_user", "nobody", "--by", "root"], "nobody"),
        (["assistant_delete_user", "root", "--by", "root"], "yourself"),
        (["assistant_delete_user", "--end-user", "acme", "x", "--by", "root"], "no end user"),
    ):
        with pytest.raises(CommandError, match=named):
            run(*words)
    monkeypatch.setattr("builtins.input", lambda _: "glob")
    with pytest.raises(CommandError, match="Nothing was deleted"):
        run("assistant_delete_tenant", "globex", "--by", "root")
    monkeypatch.setattr("builtins.input", lambda _: "globex")
    run("assistant_delete_tenant", "globex", "--by", "root")
    assert not Tenant.objects.filter(slug="globex").exists()


def test_an_interrupted_deletion_continues(planted: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(erasure, "_delete_orphaned_log_entries", cut)
    with pytest.raises(KeyboardInterrupt):
        erase_tenant(tenant=planted.acme, actor=planted.root)
    monkeypatch.undo()
    acme = Tenant.objects.get(slug="acme")
    assert not acme.is_active
    erase_tenant(tenant=acme, actor=planted.root)
    assert found_in(CANARY_HEAD) == []


def test_a_row_is_counted_once(cast: Cast) -> None:
    thread = make_conversation(cast.alice, cast.support, id=uuid.uuid4())
    make_run(thread)
    assert "       1  assistant.Run" in run("assistant_delete_user", "alice", "--by", "root", "--dry-run")
