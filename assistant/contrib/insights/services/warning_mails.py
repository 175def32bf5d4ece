"""E-mails about warnings of a tenant: who gets them, and who sends them.

The row of a warning says that its e-mails are due, so another process sends them if the first one dies. It has
`tenant`, `mail_due_at` and `mail_tries`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import F, Q, QuerySet

from assistant.contrib.insights.models import WarningSettings
from assistant.models import Membership, Tenant
from assistant.services.db.threads import in_database
from assistant.services.tenancy import mail

logger = logging.getLogger(__name__)

# Recipients of one tenant, so that nobody has this server send to many.
MAX_RECIPIENTS = 10
# When an e-mail that could not be sent, or whose process died, is tried again, and how often.
MAIL_RETRY = timedelta(minutes=10)
MAIL_TRIES = 6
# E-mails that one process sends in one round.
MAX_MAILS = 50


@dataclass(frozen=True, slots=True)
class DueMail:
    """An e-mail that this process has claimed: for which attempt, to whom, and what it says."""

    own: QuerySet[Any]
    tenant_id: int
    tries: int
    recipients: tuple[str, ...]
    template: str
    context: Mapping[str, Any]


def recipients_of(tenant: Tenant) -> list[str]:
    """Return who is warned by e-mail: the tenant's addresses, else those of its owners."""
    chosen = WarningSettings.objects.filter(tenant=tenant).values_list("emails", flat=True).first()
    if chosen:
        return [str(address) for address in chosen][:MAX_RECIPIENTS]
    field = f"user__{get_user_model().get_email_field_name()}"
    owners = Membership.objects.filter(tenant=tenant, role=Membership.Role.OWNER, user__is_active=True)
    found = owners.exclude(Q(**{field: ""}) | Q(**{field: None})).order_by("pk").values_list(field, flat=True)
    return list(found[:MAX_RECIPIENTS])


def claim_mails(
    rows: QuerySet[Any], *, template: str, context: Callable[[Any], Mapping[str, Any]], now: datetime
) -> list[DueMail]:
    """Claim the e-mails that are due, each for `MAIL_RETRY`; no two processes claim the same.

    Args:
        rows: the warnings of all tenants, with their tenants.
        template: as for `mail.send`.
        context: returns what the e-mail of a row says.
    """
    due = rows.filter(mail_due_at__lte=now, tenant__is_active=True)
    found = []
    for row in due.order_by("mail_due_at", "pk")[:MAX_MAILS]:
        tries = row.mail_tries + 1
        own = rows.model._default_manager.filter(pk=row.pk, tenant_id=row.tenant_id)
        next_at = None if tries >= MAIL_TRIES else now + MAIL_RETRY
        if own.filter(mail_tries=row.mail_tries).update(mail_due_at=next_at, mail_tries=F("mail_tries") + 1):
            recipients = tuple(recipients_of(row.tenant))
            found.append(
                DueMail(own.filter(mail_tries=tries), row.tenant_id, tries, recipients, template, context(row))
            )
    return found


async def send_mails(claim: Callable[..., list[DueMail]], *, now: datetime) -> None:
    """Send the e-mails that `claim(now=now)` claims, in a thread that uses no database connection."""
    for due in await in_database(claim, now=now):
        sent = await asyncio.to_thread(send_mail, due)
        await in_database(finish_mail, due=due, sent=sent)


def send_mail(due: DueMail) -> bool:
    """Send an e-mail to each recipient; return whether any was sent, or there is nobody."""
    sent = [mail.send(to=address, template=due.template, **due.context) for address in due.recipients]
    return any(sent) or not sent


def finish_mail(*, due: DueMail, sent: bool) -> None:
    """Record an attempt of this process: done, or left to be tried again."""
    if sent:
        due.own.update(mail_due_at=None)
    elif due.tries >= MAIL_TRIES:
        logger.error("%s of tenant %s could not be sent in %d tries", due.template, due.tenant_id, due.tries)
