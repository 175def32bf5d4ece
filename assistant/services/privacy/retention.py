"""Deletes what a tenant no longer wants to keep, in batches, each a transaction: an interrupted look is taken again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from assistant.models import (
    AuditEntry,
    Conversation,
    IdempotentAnswer,
    Incident,
    Retention,
    Run,
    Tenant,
    ToolCall,
    ToolFile,
    WebhookDelivery,
)
from assistant.models.retention import KINDS, effective
from assistant.services.eventlog.configured import configured_log
from assistant.services.runs.idempotency import LIFETIME
from assistant.services.tenancy import audit_trail

BATCH = 500
# Somebody or something still waits for these.
_UNDECIDED = (ToolCall.Status.RUNNING, ToolCall.Status.AWAITING_APPROVAL, ToolCall.Status.APPROVED)
_EMPTIED: dict[str, Any] = {"arguments": "", "result": "", "told": "", "display": None, "error": "", "asked": None}
_IS_EMPTY = Q(arguments="", result="", told="", display__isnull=True, error="", asked__isnull=True)


def note_periods(*, actor: audit_trail.Actor, periods: Retention) -> None:
    """Write down for how many days a tenant keeps its records from now on, and who says so."""
    days = {kind: getattr(periods, kind) for kind in KINDS}
    audit_trail.record(
        actor=actor, action="retention.set", target=str(periods), tenant=periods.tenant, details={"days": days}
    )


def apply_retention(*, tenant: Tenant, dry_run: bool = False) -> dict[str, int]:
    """Delete a tenant's rows that are older than its periods; how many of each kind (with `dry_run`: would be)."""
    counts: Counter[str] = Counter()
    for name, rows, remove in _due(tenant):
        counts[name] += rows.count() if dry_run else _in_batches(rows, remove)
    return dict(+counts)


def _due(tenant: Tenant) -> list[tuple[str, QuerySet[Any], Callable[[QuerySet[Any]], object]]]:
    """What is too old, and how it is removed."""
    own = Retention.objects.filter(tenant=tenant).first()
    now = timezone.now()

    def before(kind: str) -> datetime | None:
        days = effective(own, kind)
        return now - timedelta(days=days) if days is not None else None

    due: list[tuple[str, QuerySet[Any], Callable[[QuerySet[Any]], object]]] = [
        ("idempotent answers", IdempotentAnswer.objects.filter(tenant=tenant, created_at__lt=now - LIFETIME), _delete)
    ]
    calls, files = ToolCall.objects.filter(tenant=tenant), ToolFile.objects.filter(tenant=tenant)
    if (until := before("conversations")) is not None:
        running = Run.objects.filter(tenant=tenant, conversation=OuterRef("pk"), status=Run.Status.RUNNING)
        old = Conversation.objects.filter(tenant=tenant, updated_at__lt=until).exclude(Exists(running))
        due.append(("conversations", old, _delete_conversations))
        # They go with their conversation, and are counted as that.
        calls, files = calls.exclude(run__conversation__in=old), files.exclude(call__run__conversation__in=old)
    if (until := before("tool_calls")) is not None:
        calls = calls.filter(started_at__lt=until).exclude(status__in=_UNDECIDED)
        due.append(("tool calls emptied", calls.exclude(_IS_EMPTY), lambda rows: rows.update(**_EMPTIED)))
    if (until := before("files")) is not None:
        due.append(("files", files.filter(created_at__lt=until), _delete))
    if (until := before("deliveries")) is not None:
        due.append(("webhook deliveries", WebhookDelivery.objects.filter(tenant=tenant, created_at__lt=until), _delete))
    if (until := before("audit")) is not None:
        due.append(("audit entries", AuditEntry.objects.filter(tenant=tenant, created_at__lt=until), _delete))
        due.append(("incidents", Incident.objects.filter(tenant=tenant, created_at__lt=until), _delete))
    return due


def _in_batches(rows: QuerySet[Any], remove: Callable[[QuerySet[Any]], object]) -> int:
    """Remove all rows, some at a time: no lock is held for long, and no list grows with the table."""
    done = 0
    while batch := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            # Asked again: something may have become young, or begun to run, since it was looked at.
            remove(rows.filter(pk__in=batch))
        done += len(batch)
    return done


def _delete(rows: QuerySet[Any]) -> None:
    rows.delete()


def _delete_conversations(rows: QuerySet[Any]) -> None:
    threads = [str(pk) for pk in rows.values_list("pk", flat=True)]
    rows.delete()
    transaction.on_commit(lambda: configured_log().forget(threads))
