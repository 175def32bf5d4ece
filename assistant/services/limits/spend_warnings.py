"""Tells tenants that they have spent a part of their monthly limit of cost: an event, and e-mails.

Each warning is sent once a month by all processes together, because its row is unique. The row also says that the
e-mails are due, so another process sends them if the first one dies.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import LimitUse, Windows
from assistant.models import Membership, QuotaUse, SpendNotice, Tenant, UsageEntry
from assistant.models.limits import WARNED_AT
from assistant.services.db.threads import in_database
from assistant.services.jobs.recurring import recurs
from assistant.services.tenancy import mail
from assistant.services.tenancy.quotas import quotas_of
from assistant.services.tenant_events import SPEND_THRESHOLD, record_event

logger = logging.getLogger(__name__)

# Recipients of one tenant, so that nobody has this server send to many.
MAX_RECIPIENTS = 10
# When an e-mail that could not be sent, or whose process died, is tried again, and how often.
MAIL_RETRY, MAIL_TRIES = timedelta(minutes=10), 6
# E-mails that one process sends in one round.
MAX_MAILS = 50


@dataclass(frozen=True, slots=True)
class ReachedPart:
    """A part of a tenant's limit of cost that was reached; amounts are in millionths."""

    tenant_id: int
    percent: int
    spent: int
    limit: int


@dataclass(frozen=True, slots=True)
class DueMail:
    """An e-mail that this process has claimed: to whom, and what it says."""

    notice_id: int
    tenant_id: int
    tries: int
    recipients: tuple[str, ...]
    context: Mapping[str, Any]


@recurs("spend.warn", seconds=60.0)
async def warn_of_spend() -> None:
    """Send the warnings of all tenants that are due. E-mails are sent in a thread that uses no database connection."""
    if not settings.ASSISTANT_SPEND_WARNINGS:
        return
    await in_database(record_reached, now=timezone.now())
    for due in await in_database(claim_mails, now=timezone.now()):
        sent = await asyncio.to_thread(_send, due)
        await in_database(finish_mail, due=due, sent=sent)


def record_reached(*, now: datetime) -> int:
    """Record the parts of limits that were reached and not reported yet, with their events; return their number.

    At most four queries, and a transaction for each part that is new.
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
    open_parts = {
        tenant.pk: (cap, parts)
        for tenant, cap in capped.items()
        if (parts := _parts(percentages_of(tenant), used.get(tenant.pk, cap * 100), cap, told, tenant.pk))
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


def percentages_of(tenant: Tenant) -> list[int]:
    """Return the parts in per cent at which a tenant, loaded with its limits, is warned."""
    limits = getattr(tenant, "limits", None)
    return list(WARNED_AT) if limits is None else [one for one in limits.warning_percentages if isinstance(one, int)]


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
    """Claim the e-mails that are due, each for `MAIL_RETRY`; no two processes claim the same."""
    due = SpendNotice.objects.filter(mail_due_at__lte=now, tenant__is_active=True).select_related("tenant__limits")
    found = []
    for notice in due.order_by("mail_due_at", "pk")[:MAX_MAILS]:
        is_last = notice.mail_tries + 1 >= MAIL_TRIES
        own = SpendNotice.objects.filter(pk=notice.pk, tenant_id=notice.tenant_id, mail_tries=notice.mail_tries)
        if own.update(mail_due_at=None if is_last else now + MAIL_RETRY, mail_tries=F("mail_tries") + 1):
            found.append(_mail(notice))
    return found


def _mail(notice: SpendNotice) -> DueMail:
    return DueMail(
        notice_id=notice.pk,
        tenant_id=notice.tenant_id,
        tries=notice.mail_tries + 1,
        recipients=tuple(recipients_of(notice.tenant)),
        context={
            "tenant": notice.tenant.name,
            "percent": notice.percent,
            "spent": notice.spent / MILLIONTHS,
            "limit": notice.limit / MILLIONTHS,
            "month": notice.month,
        },
    )


def recipients_of(tenant: Tenant) -> list[str]:
    """Return who is warned by e-mail: the tenant's addresses, else those of its owners."""
    limits = getattr(tenant, "limits", None)
    if limits is not None and limits.warning_emails:
        return [str(address) for address in limits.warning_emails][:MAX_RECIPIENTS]
    field = f"user__{get_user_model().get_email_field_name()}"
    owners = Membership.objects.filter(tenant=tenant, role=Membership.Role.OWNER, user__is_active=True)
    found = owners.exclude(Q(**{field: ""}) | Q(**{field: None})).order_by("pk").values_list(field, flat=True)
    return list(found[:MAX_RECIPIENTS])


def _send(due: DueMail) -> bool:
    """Send an e-mail to each recipient; return whether any was sent, or there is nobody."""
    sent = [mail.send(to=address, template="spend_warning", **due.context) for address in due.recipients]
    return any(sent) or not sent


def finish_mail(*, due: DueMail, sent: bool) -> None:
    """Record an attempt of this process: done, or left to be tried again."""
    claimed = SpendNotice.objects.filter(pk=due.notice_id, tenant_id=due.tenant_id, mail_tries=due.tries)
    if sent:
        claimed.update(mail_due_at=None)
    elif due.tries >= MAIL_TRIES:
        logger.error("A warning of spend of tenant %s could not be sent in %d tries", due.tenant_id, due.tries)
