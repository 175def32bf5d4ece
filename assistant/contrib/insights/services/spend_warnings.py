"""Tells tenants that they have spent a part of their monthly limit of cost: an event, and e-mails.

Each warning is sent once a month by all processes together, because its row is unique.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone

from assistant.contrib.insights.event_names import SPEND_THRESHOLD
from assistant.contrib.insights.models import SpendNotice, WarningSettings, warned_at
from assistant.contrib.insights.services import warning_mails
from assistant.contrib.insights.services.warning_mails import DueMail
from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import LimitUse, Windows
from assistant.models import QuotaUse, Tenant, UsageEntry
from assistant.services.db.threads import in_database
from assistant.services.jobs.recurring import recurs
from assistant.services.tenancy import mail
from assistant.services.tenancy.quotas import quotas_of
from assistant.services.tenant_events import record_event


@dataclass(frozen=True, slots=True)
class ReachedPart:
    """A part of a tenant's limit of cost that was reached; amounts are in millionths."""

    tenant_id: int
    percent: int
    spent: int
    limit: int


@recurs("spend.warn", seconds=60.0)
async def warn_of_spend() -> None:
    """Send the warnings of all tenants that are due. E-mails are sent in a thread that uses no database connection."""
    if not settings.ASSISTANT_SPEND_WARNINGS:
        return
    await in_database(record_reached, now=timezone.now())
    await warning_mails.send_mails(claim_mails, now=timezone.now())


def record_reached(*, now: datetime) -> int:
    """Record the parts of limits that were reached and not reported yet, with their events; return their number.

    At most five queries, and a transaction for each part that is new.
    """
    month = Windows.at(now.astimezone(UTC)).month
    reached = [one for one in _reached(month) if _record(one, month.date(), now)]
    return len(reached)


def _reached(month: datetime) -> Iterable[ReachedPart]:
    """Yield the parts that were reached this month and not reported, by the sums of usage rows."""
    capped = {tenant: cap for tenant in _tenants() if (cap := quotas_of(tenant).tenant.cost_per_month)}
    if not capped:
        return
    # The counters include reservations of unfinished runs, so a part that they have not reached is not reached. Where
    # there is none, as after a change of limits, the rows are asked.
    current = QuotaUse.objects.filter(user=None, month_at__gte=month, tenant__in=capped)
    used = dict(current.values_list("tenant_id", "month_cost"))
    told = set(SpendNotice.objects.filter(month=month.date(), tenant__in=capped).values_list("tenant_id", "percent"))
    chosen = dict(WarningSettings.objects.filter(tenant__in=capped).values_list("tenant_id", "percentages"))
    open_parts = {
        tenant.pk: (cap, parts)
        for tenant, cap in capped.items()
        if (parts := _parts(chosen.get(tenant.pk, warned_at()), used.get(tenant.pk, cap * 100), cap, told, tenant.pk))
    }
    if not open_parts:
        return
    sums = UsageEntry.objects.filter(tenant__in=open_parts, created_at__gte=month).order_by().values("tenant_id")
    for tenant_id, spent in sums.annotate(cost=Sum("cost")).values_list("tenant_id", "cost"):
        cap, parts = open_parts[tenant_id]
        for percent in _parts(parts, spent, cap, told, tenant_id):
            yield ReachedPart(tenant_id, percent, spent, cap)


def _parts(
    percentages: Iterable[int], spent: int, cap: int, told: Collection[tuple[int, int]], tenant_id: int
) -> list[int]:
    use = LimitUse(spent, cap)
    return [one for one in sorted(percentages) if use.has_reached(one) and (tenant_id, one) not in told]


def _tenants() -> QuerySet[Tenant]:
    """Return the active tenants that may have a limit of cost a month."""
    tenants = Tenant.objects.filter(is_active=True).select_related("limits")
    if settings.ASSISTANT_TENANT_LIMITS.get("cost_per_month"):
        return tenants
    return tenants.filter(limits__tenant_cost_per_month__gt=0)


def _record(part: ReachedPart, month: date, now: datetime) -> bool:
    """Store that a part was reached, with its event; return whether no other process has."""
    try:
        with transaction.atomic():
            SpendNotice.objects.create(
                tenant_id=part.tenant_id,
                month=month,
                percent=part.percent,
                spent=part.spent,
                limit=part.limit,
                mail_due_at=now if mail.is_mail_configured() else None,
            )
            record_event(
                tenant_id=part.tenant_id,
                event=SPEND_THRESHOLD,
                data={
                    "month": f"{month:%Y-%m}",
                    "percent": part.percent,
                    "spent": part.spent,
                    "limit": part.limit,
                },
                event_key=f"{month:%Y-%m} {part.percent}",
            )
    except IntegrityError:
        return False
    return True


def claim_mails(*, now: datetime) -> list[DueMail]:
    """Claim the e-mails that are due; no two processes claim the same."""
    notices = SpendNotice.objects.select_related("tenant")
    return warning_mails.claim_mails(notices, template="spend_warning", context=_context, now=now)


def _context(notice: SpendNotice) -> Mapping[str, Any]:
    return {
        "tenant": notice.tenant.name,
        "percent": notice.percent,
        "spent": notice.spent / MILLIONTHS,
        "limit": notice.limit / MILLIONTHS,
        "currency": settings.ASSISTANT_CURRENCY,
        "month": notice.month,
    }
