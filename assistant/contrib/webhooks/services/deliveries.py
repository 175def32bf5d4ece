"""The queue of webhook deliveries: claims those that are due, records attempts and schedules retries.

A process claims a delivery by postponing its next attempt. If the process dies, the delivery becomes due again, so that
each message is sent at least once.
"""

from __future__ import annotations

import logging
import random
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Min, Q, QuerySet
from django.db.models.functions import Coalesce

from assistant.contrib.webhooks.models import Webhook, WebhookDelivery
from assistant.contrib.webhooks.services.events import TEST_EVENT, secrets_of, tell_of_due
from assistant.services.db.clock import DatabaseTime, database_time
from assistant.services.metrics import Series
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.row_scope import all_tenants

logger = logging.getLogger(__name__)

# Delays after the first attempt, the second, ...: three days in all, as the specification recommends.
RETRY_DELAYS = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
)
JITTER = 0.1
# A webhook that has failed for this long without a success is switched off.
DISABLE_AFTER = timedelta(days=3)
HTTP_GONE = 410
# After this time without a result the claiming process is assumed dead; must exceed the sender's SEND_SECONDS.
CLAIM_TIMEOUT = timedelta(seconds=60)
# Concurrent deliveries of one process, so that a slow receiver does not delay others.
MAX_PER_WEBHOOK, MAX_SENDING_PER_TENANT = 4, 8
# Outcomes: `delivered`, `pending` (to be retried) or `failed`.
_deliveries = Series("assistant_webhook_deliveries", "Tries to send a message to a webhook.", ("outcome",))


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that this process has claimed, with everything needed to send it."""

    pk: int
    claim: str
    tenant_id: int
    webhook_id: int
    url: str
    message_id: str
    body: str
    secrets: tuple[str, ...]
    trace_parent: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of an attempt: an HTTP status, or an error message if there was no response."""

    code: int | None
    error: str
    duration_ms: int

    @property
    def is_success(self) -> bool:
        return self.code is not None and 200 <= self.code < 300


def _pending() -> QuerySet[WebhookDelivery]:
    """Return the deliveries to be sent now or later, of all tenants."""
    return WebhookDelivery.objects.filter(
        Q(webhook__is_active=True) | Q(event=TEST_EVENT), status=WebhookDelivery.Status.PENDING, tenant__is_active=True
    )


def _due_now(now: datetime) -> QuerySet[WebhookDelivery]:
    return _pending().filter(next_try_at__lte=now)


@all_tenants()
def claim_due(
    *, sending: Mapping[tuple[int, int], int], limit: int, next_in: Callable[[float], object] = lambda seconds: None
) -> list[ClaimedDelivery]:
    """Claim up to `limit` deliveries that are due, first those of the webhook that has waited longest.

    No delivery is claimed by two processes.

    Args:
        sending: the number of deliveries that this process is sending, by (tenant, webhook).
        next_in: called with the seconds until the first delivery is due, if none is due now.
    """
    timed = _pending().filter(next_try_at__isnull=False).order_by("next_try_at")
    row = timed.values_list("next_try_at", DatabaseTime()).first()
    if row is None:
        return []
    if row[0] > row[1]:
        next_in((row[0] - row[1]).total_seconds())
        return []
    now = row[1]
    waiting = _due_now(now).values_list("tenant_id", "webhook_id").annotate(first=Min("next_try_at")).order_by("first")
    by_tenant: Counter[int] = Counter()
    for (tenant_id, _), count in sending.items():
        by_tenant[tenant_id] += count
    claimed: list[ClaimedDelivery] = []
    for tenant_id, webhook_id, _ in waiting[: 10 * max(limit, 1)]:
        free = min(
            limit - len(claimed),
            MAX_PER_WEBHOOK - sending.get((tenant_id, webhook_id), 0),
            MAX_SENDING_PER_TENANT - by_tenant[tenant_id],
        )
        if free > 0:
            taken = _claim(tenant_id, webhook_id, free, now)
            by_tenant[tenant_id] += len(taken)
            claimed += taken
    return claimed


@transaction.atomic
def _claim(tenant_id: int, webhook_id: int, limit: int, now: datetime) -> list[ClaimedDelivery]:
    own = _due_now(now).filter(tenant_id=tenant_id, webhook_id=webhook_id)
    rows = list(
        own.select_related("webhook")
        .order_by("next_try_at", "pk")
        .select_for_update(of=("self",), skip_locked=True)[:limit]
    )
    claim = uuid.uuid4().hex
    mine = WebhookDelivery.objects.filter(pk__in=[row.pk for row in rows], tenant_id=tenant_id)
    mine.update(claim=claim, next_try_at=now + CLAIM_TIMEOUT)
    return [
        ClaimedDelivery(
            pk=row.pk,
            claim=claim,
            tenant_id=row.tenant_id,
            webhook_id=row.webhook_id,
            url=row.webhook.url,
            message_id=row.message_id,
            body=row.body,
            secrets=secrets_of(row.webhook, now),
            trace_parent=row.trace_parent,
        )
        for row in rows
    ]


def _claimed(delivery: ClaimedDelivery) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(pk=delivery.pk, tenant_id=delivery.tenant_id, claim=delivery.claim)


def release(*, delivery: ClaimedDelivery) -> None:
    """Release a delivery that was not sent, for any process to claim."""
    _claimed(delivery).update(claim="", next_try_at=DatabaseTime())


@transaction.atomic
def record_attempt(*, delivery: ClaimedDelivery, attempt: Attempt) -> None:
    """Record an attempt, unless the claim has expired."""
    now = database_time()
    row = _claimed(delivery).select_for_update().first()
    if row is None:
        return
    row.attempts += 1
    row.claim, row.tried_at = "", now
    row.response_code, row.error, row.duration_ms = attempt.code, attempt.error[:300], attempt.duration_ms
    row.status, row.next_try_at = _next_status(row.attempts, attempt, now)
    _deliveries.add(row.status)
    row.save(
        update_fields=[
            "attempts", "claim", "tried_at", "response_code", "error", "duration_ms", "status", "next_try_at",
        ]
    )  # fmt: skip
    webhook = Webhook.objects.filter(pk=delivery.webhook_id, tenant_id=delivery.tenant_id)
    if attempt.is_success:
        webhook.exclude(failing_since=None).update(failing_since=None)
        return
    webhook.update(failing_since=Coalesce(F("failing_since"), now))
    to_disable = webhook.filter(is_active=True)
    if attempt.code != HTTP_GONE:
        to_disable = to_disable.filter(failing_since__lte=now - DISABLE_AFTER)
    if to_disable.update(is_active=False, disabled_at=now):
        _record_disabled(webhook.select_related("tenant").get(), attempt)


def _next_status(attempts: int, attempt: Attempt, now: datetime) -> tuple[str, datetime | None]:
    if attempt.is_success:
        return WebhookDelivery.Status.DELIVERED, None
    if attempts > len(RETRY_DELAYS):
        return WebhookDelivery.Status.FAILED, None
    wait = RETRY_DELAYS[attempts - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - jitter, not security  # nosec B311
    return WebhookDelivery.Status.PENDING, now + wait


def _record_disabled(webhook: Webhook, attempt: Attempt) -> None:
    reason = attempt.error or f"HTTP {attempt.code}"
    logger.warning("Webhook %s of tenant %s was switched off: %s", webhook.pk, webhook.tenant.slug, reason)
    details = {"failing_since": str(webhook.failing_since), "last": reason}
    audit_trail.record(
        actor=None, action="webhook.disable", target=str(webhook), tenant=webhook.tenant, details=details
    )


def resend(*, delivery: WebhookDelivery) -> None:
    """Make a delivery due now, with the same message id. Its attempts are counted from 0 again."""
    WebhookDelivery.objects.filter(pk=delivery.pk, tenant_id=delivery.tenant_id).update(
        status=WebhookDelivery.Status.PENDING, attempts=0, next_try_at=DatabaseTime(), claim=""
    )
    tell_of_due()
