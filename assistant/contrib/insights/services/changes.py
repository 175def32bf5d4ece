"""The changes that may affect answers, of the audit: prompts, switches, models, documents, limits, releases."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime, time, timedelta

from django.db.models import Q, QuerySet

from assistant.contrib.insights.services.releases import RELEASE
from assistant.models import AuditEntry

# What actions begin with, and those of them that change nothing for answers.
_BEGINNINGS = (
    "prompt.", "promptvariable.", "tool.", "toolsetting.", "assistant.", "provider.", "modelprice.", "document.",
    "limits.", "mcpserver.", "mcptool.", "bundle.", "tenantlimits.", "delegate.", "collection.", "tenant.change",
    "source.refresh",
)  # fmt: skip
_WITHOUT_EFFECT = (
    "prompt.draft", "prompt.edit", "prompt.label", "prompt.schedule", "prompt.unschedule", "assistant.export",
    "bundle.export",
)  # fmt: skip
# Of the deployment, besides its providers.
_OF_ALL = ("tool.block", "tool.unblock", RELEASE)
MAX_CHANGES = 200
# Of several tenants.
MAX_CHANGES_OF_ALL = 2_000


def changes_of(*, tenant_id: int, first: date, last: date) -> list[AuditEntry]:
    """Return a tenant's changes of some days (UTC) and those of the deployment's tools and releases, the oldest first.

    Two queries; at most the newest `MAX_CHANGES`.
    """
    when = _within(first, last)
    own = AuditEntry.objects.filter(_is_change(), when, tenant_id=tenant_id)
    of_all = AuditEntry.objects.filter(when, tenant=None, action__in=_OF_ALL)
    found = [*_newest(own, MAX_CHANGES), *_newest(of_all, MAX_CHANGES)]
    return _in_order(found)[-MAX_CHANGES:]


def changes_within(periods: Iterable[tuple[date, date]], *, tenants: Collection[int]) -> list[AuditEntry]:
    """Return the changes of tenants and of the deployment, with its providers, within any of some periods (UTC).

    Two queries; at most the newest `MAX_CHANGES_OF_ALL`, the oldest first.
    """
    when = Q(pk=None)
    for first, last in periods:
        when |= _within(first, last)
    own = AuditEntry.objects.filter(_is_change(), when, tenant_id__in=tenants)
    of_all = AuditEntry.objects.filter(when, Q(action__in=_OF_ALL) | Q(action__startswith="provider."), tenant=None)
    return _in_order([*_newest(own, MAX_CHANGES_OF_ALL), *_newest(of_all, MAX_CHANGES)])


def _within(first: date, last: date) -> Q:
    begin = datetime.combine(first, time.min, UTC)
    return Q(created_at__gte=begin, created_at__lt=datetime.combine(last + timedelta(days=1), time.min, UTC))


def _is_change() -> Q:
    """Return the condition of entries that may affect answers."""
    is_change = Q()
    for beginning in _BEGINNINGS:
        is_change |= Q(action__startswith=beginning)
    return is_change & ~Q(action__in=_WITHOUT_EFFECT)


def _newest(rows: QuerySet[AuditEntry], most: int) -> Iterable[AuditEntry]:
    return rows.select_related("actor").order_by("-created_at", "-pk")[:most]


def _in_order(entries: list[AuditEntry]) -> list[AuditEntry]:
    return sorted(entries, key=lambda entry: (entry.created_at, entry.pk))
