"""Deletes rows older than a tenant's retention periods, in batches with a transaction each. May be interrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from assistant.models import (
    Attachment,
    AuditEntry,
    Conversation,
    IdempotentAnswer,
    Incident,
    Job,
    Retention,
    Run,
    RunConfiguration,
    Tenant,
    ToolCall,
    ToolFile,
)
from assistant.models.conversations import ToolsInTests
from assistant.models.retention import KINDS, effective
from assistant.models.runs import IS_ACTIVE
from assistant.services.eventlog.configured import configured_log
from assistant.services.privacy.retention_rules import Due, delete_rows, due_of, due_whatever_the_period
from assistant.services.runs.idempotency import LIFETIME
from assistant.services.tenancy import audit_trail

BATCH = 500
# Statuses of calls that have not ended.
_UNDECIDED = (
    ToolCall.Status.RUNNING,
    ToolCall.Status.AWAITING_APPROVAL,
    ToolCall.Status.APPROVED,
    ToolCall.Status.PENDING,
)
_TEXTS = {"arguments": "", "result": "", "told": "", "error": "", "questions": ""}
_CLEARED: dict[str, Any] = {**_TEXTS, "display": None, "asked": None}
_IS_CLEARED = Q(**_TEXTS, display__isnull=True, asked__isnull=True)


def record_periods(*, actor: audit_trail.Actor, periods: Retention) -> None:
    """Record a change of a tenant's retention periods in the audit trail."""
    days = {kind: getattr(periods, kind) for kind in KINDS}
    audit_trail.record(
        actor=actor, action="retention.set", target=str(periods), tenant=periods.tenant, details={"days": days}
    )


def apply_retention(*, tenant: Tenant, dry_run: bool = False) -> dict[str, int]:
    """Delete a tenant's rows that are older than its retention periods.

    Returns:
        The number of deleted rows by kind; with `dry_run`, the number that would be deleted.
    """
    counts: Counter[str] = Counter()
    for name, rows, remove in _due(tenant):
        if dry_run:
            counts[name] += rows.count()
        while not dry_run and (removed := _remove_batch(rows, remove)):
            counts[name] += removed
    return dict(+counts)


def remove_some(*, tenant_id: int) -> int:
    """Delete a batch of a tenant's rows that are older than its retention periods; return 0 if there are none left."""
    due = _due(Tenant.objects.get(pk=tenant_id))
    return next(filter(None, (_remove_batch(rows, remove) for _, rows, remove in due)), 0)


def _due(tenant: Tenant) -> list[Due]:
    """Return what is too old."""
    own = Retention.objects.filter(tenant=tenant).first()
    now = timezone.now()

    def before(kind: str) -> datetime | None:
        days = effective(own, kind)
        return now - timedelta(days=days) if days is not None else None

    due = [
        Due(
            "idempotent answers",
            IdempotentAnswer.objects.filter(tenant=tenant, created_at__lt=now - LIFETIME),
            delete_rows,
        ),
        *due_whatever_the_period(tenant, now),
    ]
    # A replay is deleted when it ends, unless its process died.
    left = Conversation.objects.filter(tenant=tenant, test_tools=ToolsInTests.REPLAY, updated_at__lt=now - LIFETIME)
    running = Run.objects.filter(IS_ACTIVE, tenant=tenant, conversation=OuterRef("pk"))
    due.append(Due("replayed questions", left.exclude(Exists(running)), _delete_conversations))
    calls, files = ToolCall.objects.filter(tenant=tenant), ToolFile.objects.filter(tenant=tenant)
    attachments = Attachment.objects.filter(tenant=tenant)
    if (until := before("conversations")) is not None:
        old = Conversation.objects.filter(tenant=tenant, updated_at__lt=until).exclude(Exists(running))
        due.append(Due("conversations", old, _delete_conversations))
        # After its last run. A process that has stored one within the hour does not store it again for its next run.
        used = Run.objects.filter(tenant=tenant).values("configuration")
        unused = RunConfiguration.objects.filter(tenant=tenant, used_at__lt=until).exclude(digest__in=used)
        due.append(Due("run configurations", unused, delete_rows))
        # These are deleted with their conversation and not counted again.
        calls, files = calls.exclude(run__conversation__in=old), files.exclude(call__run__conversation__in=old)
        attachments = attachments.exclude(conversation__in=old)
    if (until := before("tool_calls")) is not None:
        calls = calls.filter(started_at__lt=until).exclude(status__in=_UNDECIDED)
        due.append(Due("tool calls emptied", calls.exclude(_IS_CLEARED), lambda rows: rows.update(**_CLEARED)))
    if (until := before("files")) is not None:
        due.append(Due("files", files.filter(created_at__lt=until), delete_rows))
        due.append(Due("attachments", attachments.filter(created_at__lt=until), _delete_attachments))
    if (until := before("audit")) is not None:
        due.append(Due("audit entries", AuditEntry.objects.filter(tenant=tenant, created_at__lt=until), delete_rows))
        due.append(Due("jobs", Job.objects.filter(tenant=tenant, ended_at__lt=until), delete_rows))
        due.append(Due("incidents", Incident.objects.filter(tenant=tenant, created_at__lt=until), delete_rows))
    for kind in KINDS:
        if (until := before(kind)) is not None:
            due += due_of(kind, tenant, until)
    return due


def _remove_batch(rows: QuerySet[Any], remove: Callable[[QuerySet[Any]], object]) -> int:
    """Remove a batch of rows, to hold locks and memory only briefly; return how many there were."""
    batch = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
    if batch:
        with transaction.atomic():
            # Filtered again, because a conversation may have been used since.
            remove(rows.filter(pk__in=batch))
    return len(batch)


def _delete_attachments(rows: QuerySet[Any]) -> None:
    # What answers have quoted of them goes with them.
    of_threads = rows.order_by().values("tenant", "conversation")
    for tenant, conversation in of_threads.distinct().values_list("tenant", "conversation"):
        Run.objects.filter(tenant=tenant, conversation=conversation, passages__isnull=False).update(passages=None)
    rows.delete()


def _delete_conversations(rows: QuerySet[Any]) -> None:
    threads = [str(pk) for pk in rows.values_list("pk", flat=True)]
    rows.delete()
    transaction.on_commit(lambda: configured_log().forget(threads))
