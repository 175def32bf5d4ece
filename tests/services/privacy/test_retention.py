"""Retention: only rows older than the tenant's periods are deleted."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db.models import Model
from django.utils import timezone

from assistant.models import (
    Attachment,
    AuditEntry,
    Conversation,
    Incident,
    Job,
    Retention,
    Run,
    RunConfiguration,
    Tenant,
    ToolCall,
    ToolFile,
)
from assistant.models.retention import effective
from assistant.services.privacy import retention
from assistant.services.tenancy import audit_trail
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run


def age(row: Model, days: int, field: str = "created_at") -> None:
    type(row)._base_manager.filter(pk=row.pk).update(**{field: timezone.now() - timedelta(days=days)})


def old_and_new(cast: Cast, tenant: Tenant) -> None:
    """One row of each kind that is 40 days old, and one of today."""
    user, assistant = (cast.alice, cast.support) if tenant == cast.acme else (cast.mallory, cast.rival_support)
    for days in (40, 0):
        thread = make_conversation(user, assistant, title=f"{days} days")
        make_message(thread)
        done = make_run(thread)
        call = ToolCall.objects.create(
            tenant=tenant, run=done, call_id="c", name="clock", arguments="canary", result="canary", told="canary",
            error="canary", display={"a": "canary"}, asked=["canary"], questions="canary", status="ok",
        )  # fmt: skip
        file = ToolFile.objects.create(tenant=tenant, call=call, name="f", media_type="text/plain", size=1, data=b"x")
        incident = Incident.objects.create(tenant=tenant, tool="clock", description="x")
        entry = audit_trail.record(actor=None, action="x", target="x", tenant=tenant)
        age(thread, days, "updated_at")
        age(call, days, "started_at")
        for row in (file, incident, entry):
            age(row, days)


def run(*words: str) -> str:
    out = StringIO()
    call_command("assistant_apply_retention", *words, stdout=out)
    return out.getvalue()


def numbers(tenant: Tenant) -> list[int]:
    kinds = (Conversation, ToolFile, AuditEntry, Incident)
    return [kind.objects.filter(tenant=tenant).count() for kind in kinds]


@pytest.fixture
def aged(cast: Cast) -> Cast:
    AuditEntry.objects.all().delete()
    for tenant in (cast.acme, cast.globex):
        old_and_new(cast, tenant)
    return cast


def test_rows_without_a_retention_period_are_kept(aged: Cast) -> None:
    assert run() == ""
    assert numbers(aged.acme) == [2, 2, 2, 2]


def test_only_old_rows_of_the_tenant_with_a_period_are_deleted(aged: Cast) -> None:
    Retention.objects.create(tenant=aged.acme, conversations=30, files=30, audit=30)
    told = run()
    assert sorted(told.splitlines()) == [
        "acme: 1 audit entries", "acme: 1 conversations", "acme: 1 incidents",
    ]  # fmt: skip
    assert numbers(aged.acme) == [1, 1, 1, 1]
    assert numbers(aged.globex) == [2, 2, 2, 2]
    assert Conversation.objects.get(tenant=aged.acme).title == "0 days"
    assert run() == ""


def test_what_answers_quote_of_a_file_goes_with_it(aged: Cast) -> None:
    for tenant in (aged.acme, aged.globex):
        thread = Conversation.objects.filter(tenant=tenant).latest("updated_at")
        Run.objects.filter(conversation=thread).update(passages=[{"text": "Secret"}])
        file = Attachment.objects.create(
            tenant=tenant, user=thread.user, conversation=thread, kind="text", name="a.txt", size=1
        )
        age(file, 40)
    Retention.objects.create(tenant=aged.acme, files=30)
    assert "acme: 1 attachments" in run()
    assert not Run.objects.filter(tenant=aged.acme, passages__isnull=False).exists()
    assert Run.objects.filter(tenant=aged.globex, passages__isnull=False).exists()


def test_old_calls_are_emptied_and_kept_in_the_audit(aged: Cast) -> None:
    Retention.objects.create(tenant=aged.acme, tool_calls=30)
    assert run() == "acme: 1 tool calls emptied\n"
    old, new = ToolCall.objects.filter(tenant=aged.acme).order_by("started_at")
    assert (old.arguments, old.result, old.told, old.error, old.display, old.asked) == ("", "", "", "", None, None)
    assert (old.name, old.status) == ("clock", "ok")
    assert new.result == "canary"
    assert ToolCall.objects.filter(tenant=aged.globex, result="canary").count() == 2


def test_jobs_that_have_ended_are_deleted_with_the_audit(cast: Cast) -> None:
    now = timezone.now()
    for key, state, ended in (("old", "done", 40), ("new", "done", 0), ("waiting", "waiting", None)):
        at = None if ended is None else now - timedelta(days=ended)
        due = now - timedelta(days=40)
        Job.objects.create(tenant=cast.acme, name="x", key=key, due_at=due, state=state, ended_at=at)
    Retention.objects.create(tenant=cast.acme, audit=30)
    assert run() == "acme: 1 jobs\n"
    assert sorted(Job.objects.values_list("key", flat=True)) == ["new", "waiting"]


def test_a_dry_run_counts_and_changes_nothing(aged: Cast) -> None:
    Retention.objects.create(tenant=aged.acme, conversations=30)
    assert run("--dry-run", "--tenant", "acme") == "acme: 1 conversations\n"
    assert numbers(aged.acme) == [2, 2, 2, 2]


def test_a_dry_run_counts_what_a_real_run_deletes(aged: Cast) -> None:
    kept = make_conversation(aged.alice, aged.support)
    call = ToolCall.objects.create(tenant=aged.acme, run=make_run(kept), call_id="d", name="clock", arguments="x")
    over_mcp = ToolCall.objects.create(tenant=aged.acme, user=aged.alice, call_id="e", name="clock", arguments="x")
    ToolCall.objects.filter(pk__in=(call.pk, over_mcp.pk)).update(status="ok")
    file = ToolFile.objects.create(tenant=aged.acme, call=call, name="f", media_type="text/plain", size=1, data=b"x")
    for row, name in ((call, "started_at"), (over_mcp, "started_at"), (file, "created_at")):
        age(row, 40, name)
    Retention.objects.create(tenant=aged.acme, conversations=30, tool_calls=30, files=30)
    told = run("--dry-run")
    assert sorted(told.splitlines()) == ["acme: 1 conversations", "acme: 1 files", "acme: 2 tool calls emptied"]
    assert run() == told


def test_a_conversation_with_a_running_run_is_kept(aged: Cast) -> None:
    Retention.objects.create(tenant=aged.acme, conversations=30)
    Run.objects.filter(conversation__title="40 days").update(status=Run.Status.RUNNING)
    run()
    assert numbers(aged.acme)[0] == 2


def test_a_call_that_waits_for_approval_keeps_its_arguments(aged: Cast) -> None:
    Retention.objects.create(tenant=aged.acme, tool_calls=30)
    ToolCall.objects.update(status=ToolCall.Status.AWAITING_APPROVAL)
    assert run() == ""


def test_rows_are_deleted_in_batches(aged: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 1)
    Conversation.objects.update(updated_at=timezone.now() - timedelta(days=40))
    Retention.objects.create(tenant=aged.acme, conversations=30)
    assert run() == "acme: 2 conversations\n"
    assert Conversation.objects.filter(tenant=aged.globex).count() == 2


@pytest.mark.parametrize(
    ("own", "default", "most", "days"),
    [(None, 0, 0, None), (30, 0, 0, 30), (None, 60, 0, 60), (30, 60, 0, 30), (90, 0, 60, 60), (None, 0, 60, 60)],
)  # fmt: skip
def test_the_deployment_has_a_default_and_a_maximum(
    settings: object, own: int | None, default: int, most: int, days: int | None
) -> None:
    settings.ASSISTANT_RETENTION_DEFAULT_DAYS = default  # type: ignore[attr-defined]
    settings.ASSISTANT_RETENTION_MAX_DAYS = most  # type: ignore[attr-defined]
    assert effective(Retention(files=own), "files") == days


def test_a_tenants_period_cannot_exceed_the_maximum(settings: object, cast: Cast) -> None:
    settings.ASSISTANT_RETENTION_MAX_DAYS = 60  # type: ignore[attr-defined]
    with pytest.raises(ValidationError, match="60 days"):
        Retention(tenant=cast.acme, files=61).full_clean()


def test_a_configuration_goes_after_the_last_run_that_had_it(cast: Cast) -> None:
    Retention.objects.create(tenant=cast.acme, conversations=30)
    kept_run = make_run(make_conversation(cast.alice, cast.support), configuration="used")
    old = timezone.now() - timedelta(days=40)
    for tenant, digest, used_at in (
        (cast.acme, "used", old),
        (cast.acme, "unused", old),
        (cast.acme, "of today", timezone.now()),
        (cast.globex, "unused", old),
    ):
        RunConfiguration.objects.create(tenant=tenant, digest=digest, content={}, used_at=used_at)
    assert retention.apply_retention(tenant=cast.acme) == {"run configurations": 1}
    left = RunConfiguration.objects.filter(tenant=cast.acme).values_list("digest", flat=True)
    assert set(left) == {"used", "of today"}
    assert RunConfiguration.objects.filter(tenant=cast.globex).exists()
    kept_run.delete()
    assert retention.apply_retention(tenant=cast.acme) == {"run configurations": 1}
