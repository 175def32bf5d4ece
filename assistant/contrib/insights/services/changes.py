"""The changes that may affect answers, of the audit: prompts, switches, models, providers, documents, limits."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

from django.db.models import Q, QuerySet

from assistant.models import AuditEntry

# What actions begin with, and those of them that change nothing for answers.
_BEGINNINGS = (
    "prompt.", "promptvariable.", "tool.", "toolsetting.", "assistant.", "provider.", "modelprice.", "document.",
    "limits.", "mcpserver.", "mcptool.", "bundle.", "tenantlimits.", "delegate.",
)  # fmt: skip
_WITHOUT_EFFECT = (
    "prompt.draft", "prompt.edit", "prompt.label", "prompt.schedule", "prompt.unschedule", "assistant.export",
    "bundle.export",
)  # fmt: skip
MAX_CHANGES = 200


def changes_of(*, tenant_id: int, first: date, last: date) -> list[AuditEntry]:
    """Return a tenant's changes of some days (UTC) and those of the deployment's tools, the oldest first.

    Two queries; at most the newest `MAX_CHANGES`.
    """
    begin = datetime.combine(first, time.min, UTC)
    end = datetime.combine(last + timedelta(days=1), time.min, UTC)
    is_change = Q()
    for beginning in _BEGINNINGS:
        is_change |= Q(action__startswith=beginning)
    own = AuditEntry.objects.filter(is_change, tenant_id=tenant_id, created_at__gte=begin, created_at__lt=end)
    of_all = AuditEntry.objects.filter(
        tenant=None, created_at__gte=begin, created_at__lt=end, action__in=("tool.block", "tool.unblock")
    )
    found = [*_newest(own.exclude(action__in=_WITHOUT_EFFECT)), *_newest(of_all)]
    return sorted(found, key=lambda entry: (entry.created_at, entry.pk))[-MAX_CHANGES:]


def _newest(rows: QuerySet[AuditEntry]) -> Iterable[AuditEntry]:
    return rows.select_related("actor").order_by("-created_at", "-pk")[:MAX_CHANGES]
