"""The table of messages to webhooks: who sends which, what came of it, and when it is tried again.

A message is claimed by putting its next try ahead: if the claimer dies it is due again, and is sent at least once.
"""

from __future__ import annotations

import logging
import random
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Min, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from assistant.models import Webhook, WebhookDelivery
from assistant.services import metrics
from assistant.services.db.prepared_queries import PreparedQuery
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.row_scope import all_tenants
from assistant.services.webhooks.events import TEST, secrets_of

logger = logging.getLogger(__name__)

# Waits after the first try, the second, ...: three days in all, as the specification advises.
WAITS = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
)
JITTER = 0.1
# A webhook that has failed for so long, without one success between, is switched off.
PATIENCE = timedelta(days=3)
GONE = 410
# Whoever has not said in this time what came of a try is taken for dead; longer than any try takes.
CLAIM = timedelta(seconds=60)
# Of one webhook, and of one tenant, that one process sends side by side: a slow receiver keeps nobody else waiting.
PER_WEBHOOK, PER_TENANT = 4, 8


@dataclass(frozen=True, slots=True)
class Claimed:
    """A message to be sent by this process, with all that this takes."""

    pk: int
    claim: str
    tenant_id: int
    webhook_id: int
    url: str
    message_id: str
    body: str
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of a try: an HTTP status, or a sentence that says why there is none."""

    code: int | None
    error: str
    duration_ms: int

    @property
    def is_success(self) -> bool:
        return self.code is not None and 200 <= self.code < 300


def _waiting() -> QuerySet[WebhookDelivery]:
    """What is to be sent now or later, of all tenants: this is the deployment's own housekeeping."""
    return WebhookDelivery.objects.filter(
        Q(webhook__is_active=True) | Q(event=TEST), status=WebhookDelivery.Status.PENDING, tenant__is_active=True
    )


def _due(now: datetime) -> QuerySet[WebhookDelivery]:
    return _waiting().filter(next_try_at__lte=now)


def _next_try() -> QuerySet[WebhookDelivery, datetime | None]:
    timed = _waiting().filter(next_try_at__isnull=False).order_by("next_try_at")
    return timed.values_list("next_try_at", flat=True)[:1]


# Asked every two seconds by every process, and mostly all there is to ask.
_NEXT_TRY = PreparedQuery(_next_try)


@all_tenants()
def claim_due(*, busy: Mapping[tuple[int, int], int], room: int) -> list[Claimed]:
    """Take messages that are due, those of the webhook that has waited longest first, at most `room`.

    `busy` counts what this process is sending, by tenant and webhook. Several processes never take the same.
    """
    now, first = timezone.now(), _NEXT_TRY.first()
    if first is None or first > now:
        return []
    waiting = _due(now).values_list("tenant_id", "webhook_id").annotate(first=Min("next_try_at")).order_by("first")
    of_tenant: Counter[int] = Counter()
    for (tenant_id, _), count in busy.items():
        of_tenant[tenant_id] += count
    claimed: list[Claimed] = []
    for tenant_id, webhook_id, _ in waiting[: 10 * max(room, 1)]:
        free = min(
            room - len(claimed),
            PER_WEBHOOK - busy.get((tenant_id, webhook_id), 0),
            PER_TENANT - of_tenant[tenant_id],
        )
        if free > 0:
            taken = _claim(tenant_id, webhook_id, free, now)
            of_tenant[tenant_id] += len(taken)
            claimed += taken
    return claimed


@transaction.atomic
def _claim(tenant_id: int, webhook_id: int, limit: int, now: datetime) -> list[Claimed]:
    own = _due(now).filter(tenant_id=tenant_id, webhook_id=webhook_id)
    rows = list(
        own.select_related("webhook")
        .order_by("next_try_at", "pk")
        .select_for_update(of=("self",), skip_locked=True)[:limit]
    )
    claim = uuid.uuid4().hex
    mine = WebhookDelivery.objects.filter(pk__in=[row.pk for row in rows], tenant_id=tenant_id)
    mine.update(claim=claim, next_try_at=now + CLAIM)
    return [
        Claimed(
            pk=row.pk,
            claim=claim,
            tenant_id=row.tenant_id,
            webhook_id=row.webhook_id,
            url=row.webhook.url,
            message_id=row.message_id,
            body=row.body,
            secrets=secrets_of(row.webhook, now),
        )
        for row in rows
    ]


def _claimed(work: Claimed) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(pk=work.pk, tenant_id=work.tenant_id, claim=work.claim)


def give_back(*, work: Claimed) -> None:
    """Leave a message that was not sent to whoever comes next."""
    _claimed(work).update(claim="", next_try_at=timezone.now())


@transaction.atomic
def settle(*, work: Claimed, attempt: Attempt) -> None:
    """Keep what came of a try; whoever's claim has run out keeps nothing."""
    now = timezone.now()
    row = _claimed(work).select_for_update().first()
    if row is None:
        return
    row.attempts += 1
    row.claim, row.tried_at = "", now
    row.response_code, row.error, row.duration_ms = attempt.code, attempt.error[:300], attempt.duration_ms
    row.status, row.next_try_at = _what_next(row.attempts, attempt, now)
    metrics.count_delivery(row.status)
    row.save(
        update_fields=[
            "attempts", "claim", "tried_at", "response_code", "error", "duration_ms", "status", "next_try_at",
        ]
    )  # fmt: skip
    webhook = Webhook.objects.filter(pk=work.webhook_id, tenant_id=work.tenant_id)
    if attempt.is_success:
        webhook.exclude(failing_since=None).update(failing_since=None)
        return
    webhook.update(failing_since=Coalesce(F("failing_since"), now))
    hopeless = webhook.filter(is_active=True)
    if attempt.code != GONE:
        hopeless = hopeless.filter(failing_since__lte=now - PATIENCE)
    if hopeless.update(is_active=False, disabled_at=now):
        _note_disabled(webhook.select_related("tenant").get(), attempt)


def _what_next(attempts: int, attempt: Attempt, now: datetime) -> tuple[str, datetime | None]:
    if attempt.is_success:
        return WebhookDelivery.Status.DELIVERED, None
    if attempts > len(WAITS):
        return WebhookDelivery.Status.FAILED, None
    wait = WAITS[attempts - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads load, hides nothing  # nosec B311
    return WebhookDelivery.Status.PENDING, now + wait


def _note_disabled(webhook: Webhook, attempt: Attempt) -> None:
    why = attempt.error or f"HTTP {attempt.code}"
    logger.warning("Webhook %s of tenant %s was switched off: %s", webhook.pk, webhook.tenant.slug, why)
    details = {"failing_since": str(webhook.failing_since), "last": why}
    audit_trail.record(
        actor=None, action="webhook.disable", target=str(webhook), tenant=webhook.tenant, details=details
    )


def resend(*, delivery: WebhookDelivery) -> None:
    """Send a message again, now, under the same id; it has all its tries again."""
    WebhookDelivery.objects.filter(pk=delivery.pk, tenant_id=delivery.tenant_id).update(
        status=WebhookDelivery.Status.PENDING, attempts=0, next_try_at=timezone.now(), claim=""
    )
