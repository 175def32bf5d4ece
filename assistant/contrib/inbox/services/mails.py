"""E-mails about approvals and questions that wait for members, at most one in the time that each has set.

Servers import this module, so that its work is done. A process claims the e-mail of a member by an update of their row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Count, Exists, Max, OuterRef, Q
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from assistant.contrib.inbox.models import MemberInbox, PersonInbox
from assistant.contrib.inbox.services.waiting import inbox_of
from assistant.models import Approval, Job, Membership
from assistant.services.db.clock import DatabaseTime
from assistant.services.db.threads import in_database
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.jobs.recurring import recurs
from assistant.services.runs.approval_expiry import oldest_answerable
from assistant.services.tenancy import mail
from assistant.services.tenancy.end_users import is_end_user
from assistant.services.tenancy.person_settings import language_of
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.toolkit.context import UserId

MAIL_JOB = "inbox.mail"
# How long the open chats have, before an e-mail is sent.
ANSWERED_WITHIN = timedelta(minutes=5)
# When an e-mail that could not be sent is tried again.
RETRY = timedelta(minutes=5)
# Members whose e-mails one look orders; the next look orders the others'.
MAX_AT_ONCE = 100
Mails = PersonInbox.Mails
_BETWEEN = {
    Mails.AT_ONCE.value: timedelta(0),
    Mails.HOURLY.value: timedelta(hours=1),
    Mails.DAILY.value: timedelta(days=1),
}


def mails_are_on() -> bool:
    """Return whether this deployment sends e-mails about what waits."""
    return bool(settings.ASSISTANT_INBOX_MAILS) and mail.is_mail_configured()


def _waiting() -> Any:
    within = -ANSWERED_WITHIN.total_seconds()
    return Approval.objects.filter(
        tenant__is_active=True,
        run__is_test=False,
        started_at__gte=oldest_answerable(),
        started_at__lt=DatabaseTime(within),
    )


@recurs(MAIL_JOB, seconds=60.0)
def order_mails() -> int:
    """Order an e-mail for each member for whom something waits that they were not told of. Return how many."""
    if not mails_are_on():
        return 0
    inbox = MemberInbox.objects.filter(tenant=OuterRef("tenant"), user=OuterRef("run__user"))
    is_done = Q(told_to__gte=OuterRef("started_at")) | Q(tried_at__gt=timezone.now() - RETRY)
    untold = _waiting().exclude(Exists(inbox.filter(is_done)))
    found = untold.values("tenant_id", "run__user_id").annotate(newest=Max("started_at"))
    ordered = 0
    for row in found.order_by("newest")[:MAX_AT_ONCE]:
        with tenant_scope(row["tenant_id"]):
            ordered += _order(row["tenant_id"], row["run__user_id"], row["newest"])
    return ordered


def _order(tenant_id: int, user_id: UserId, newest: datetime) -> bool:
    """Order the e-mail of a member, if the time that they have set is over."""
    between = _BETWEEN.get(_wish_of(user_id))
    if between is None or is_end_user(user_id=user_id):  # the tenant informs its end users itself, by the webhook
        return False
    now = timezone.now()
    inbox_of(tenant_id=tenant_id, user_id=user_id)
    due = MemberInbox.objects.filter(
        Q(told_to=None) | Q(told_to__lt=newest),
        Q(told_at=None) | Q(told_at__lte=now - between),
        Q(tried_at=None) | Q(tried_at__lte=now - RETRY),
        tenant_id=tenant_id,
        user_id=user_id,
    )
    if not due.update(tried_at=now):
        return False
    jobs.schedule(tenant_id=tenant_id, name=MAIL_JOB, key=str(user_id), due_at=now)
    return True


def _wish_of(user_id: UserId) -> str:
    stored = PersonInbox.objects.filter(user_id=user_id).values_list("mails", flat=True).first()
    return stored or Mails.HOURLY.value


@jobs.handles(MAIL_JOB, is_long=True)
def _mail(job: Job) -> LongWork | None:
    """Return the work that sends the e-mail of a member, if something still waits for them."""
    with tenant_scope(job.tenant_id):
        entry = Membership.objects.filter(tenant_id=job.tenant_id, user_id=job.key, user__is_active=True)
        membership = entry.select_related("user").first()
        if membership is None or not job.tenant.is_active or not mails_are_on():
            return None
        address = str(getattr(membership.user, get_user_model().get_email_field_name(), "") or "")
        own = _waiting().filter(tenant_id=job.tenant_id, run__user_id=job.key)
        found = own.aggregate(count=Count("run", distinct=True), newest=Max("started_at"))
        if not address or not found["count"]:
            return None
        context = {
            "tenant": job.tenant.name,
            "count": found["count"],
            "address": _address_of_inbox(job.tenant.slug),
            "language": language_of(membership.user),
        }
        return partial(_send, job.tenant_id, membership.user_id, address, found["newest"], context)


def _address_of_inbox(tenant: str) -> str:
    """Return the address of the inbox; "" where the deployment does not know its own, or has no pages."""
    if not settings.ASSISTANT_PUBLIC_URL:
        return ""
    try:
        path = reverse("assistant:inbox", kwargs={"tenant": tenant})
    except NoReverseMatch:
        return ""
    return f"{settings.ASSISTANT_PUBLIC_URL.rstrip('/')}{path}"


async def _send(tenant_id: int, user_id: UserId, to: str, newest: datetime, context: Mapping[str, Any]) -> None:
    """Send an e-mail in a thread that uses no database connection. One that fails is ordered again later."""
    key = f"inbox-{tenant_id}-{user_id}-{int(newest.timestamp())}"
    if await asyncio.to_thread(partial(mail.send, to=to, template="inbox", key=key, **context)):
        await in_database(_sent, tenant_id, user_id, newest)


def _sent(tenant_id: int, user_id: UserId, newest: datetime) -> None:
    told = MemberInbox.objects.filter(tenant_id=tenant_id, user_id=user_id)
    told.update(told_to=newest, told_at=timezone.now())
