"""Records events for tenants' webhooks, to be sent later, and manages and applies their signing secrets.

The headers and signatures are those of https://www.standardwebhooks.com.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists
from django.utils import timezone
from django.utils.crypto import salted_hmac

from assistant.contrib.webhooks.models import Webhook, WebhookDelivery
from assistant.models import Assistant, Run, Tenant, ToolCall
from assistant.services.conversations.added_details import added_counts
from assistant.services.db.clock import DatabaseTime
from assistant.services.listeners import Listeners
from assistant.services.run_key import RunKey
from assistant.services.tenancy import audit_trail
from assistant.services.tenant_events import APPROVAL_WANTED, RUN_FINISHED, run_url
from assistant.toolkit.carried_context import trace_headers

SECRET_PREFIX = "whsec_"  # noqa: S105 - the specification's prefix of secrets  # nosec B105
SECRET_BYTES = 32
# How long the previous secret also signs after a rotation, until the receiver uses the new one.
SECRET_OVERLAP = timedelta(hours=24)
# The most webhooks of a tenant.
MAX_WEBHOOKS = 20
TEST_EVENT = "webhook.test"
_due_listeners = Listeners[[]]()


def subscribed(tenant_id: Any) -> Exists:
    """Return the condition, within a query, that a tenant has an active webhook."""
    return Exists(Webhook.objects.filter(tenant_id=tenant_id, is_active=True))


def record_event(*, tenant_id: int, event: str, data: Mapping[str, Any], event_key: str) -> int:
    """Record an event for each of the tenant's webhooks that are subscribed to it; return their number.

    Must be called in the transaction of what the event reports.

    Args:
        data: JSON values; must hold nothing that users or models wrote.
        event_key: identifies the event among all of its kind. Recording the same event again sends nothing.
    """
    webhooks = _subscribed(tenant_id, event)
    return create_deliveries(tenant_id, webhooks, event, data, event_key) if webhooks else 0


def _subscribed(tenant_id: int, event: str) -> list[int]:
    rows = Webhook.objects.filter(tenant_id=tenant_id, is_active=True).order_by("pk")
    return [pk for pk, events in rows.values_list("pk", "events") if event in events]


def create_deliveries(
    tenant_id: int, webhooks: Sequence[int], event: str, data: Mapping[str, Any], event_key: str
) -> int:
    """Record an event for these webhooks of a tenant, without asking whether they want it; return their number."""
    now = timezone.now()
    slug = Tenant.objects.values_list("slug", flat=True).get(pk=tenant_id)
    # Stored as text, because exactly these bytes are signed.
    body = json.dumps(
        {"type": event, "timestamp": now.astimezone(UTC).isoformat(), "data": {"tenant": slug, **data}},
        separators=(",", ":"),
        default=str,  # ids of users may be UUIDs
    )
    identity = message_id_of(tenant_id, event, event_key)
    trace_parent = trace_headers().get("traceparent", "")
    WebhookDelivery.objects.bulk_create(
        [
            WebhookDelivery(
                tenant_id=tenant_id,
                webhook_id=pk,
                message_id=identity,
                event=event,
                body=body,
                trace_parent=trace_parent,
                next_try_at=DatabaseTime(),
            )
            for pk in webhooks
        ],
        ignore_conflicts=True,
    )
    tell_of_due()
    return len(webhooks)


def add_listener(listener: Callable[[], object]) -> Callable[[], None]:
    """Call `listener`, in any thread, when deliveries of this process are due. Returns a function that removes it."""
    return _due_listeners.add(listener)


def tell_of_due() -> None:
    """Wake the sender for deliveries that are due, once the current transaction is committed."""
    _due_listeners.call_after_commit()


def message_id_of(tenant_id: int, event: str, event_key: str) -> str:
    """Return an id that is the same for the same event, and differs between deployments."""
    digest = salted_hmac("assistant.webhooks", f"{tenant_id} {event} {event_key}", algorithm="sha256").hexdigest()
    return f"msg_{digest[:40]}"


def record_run_event(*, key: RunKey, status: str, error_code: str, input_tokens: int, output_tokens: int) -> None:
    """Record that a run ended: `run.finished`, or `approval.wanted` if it waits for approval. Tests are not reported.

    Must be called in the transaction that ends the run.
    """
    waits = status == "waiting"
    event = APPROVAL_WANTED if waits else RUN_FINISHED
    webhooks = _subscribed(key.tenant_id, event)
    if not webhooks or Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id, is_test=True).exists():
        return
    tenant = Tenant.objects.values_list("slug", flat=True).get(pk=key.tenant_id)
    assistant = Assistant.objects.values_list("slug", flat=True).get(pk=key.assistant_id, tenant_id=key.tenant_id)
    data: dict[str, Any] = {
        "run": key.run_id,
        "conversation": str(key.client_id),
        "assistant": assistant,
        "user": key.user_id,
        "status": status,
        "url": run_url(tenant=tenant, run_id=key.run_id),
    }
    if waits:
        asked = ToolCall.objects.filter(
            tenant_id=key.tenant_id, run_id=key.pk, status=ToolCall.Status.AWAITING_APPROVAL
        )
        data["calls"] = [{"id": call, "tool": name} for call, name in asked.values_list("call_id", "name")]
        if not data["calls"]:
            return  # it waits for results from outside, and nobody has to do anything
        data["approvals_url"] = f"{data['url']}approvals/" if data["url"] else ""
    else:
        data |= {"error_code": error_code, "input_tokens": input_tokens, "output_tokens": output_tokens}
        if added := added_counts(tenant_id=key.tenant_id, assistant_id=key.assistant_id, run_id=key.pk):
            data["added"] = added
    create_deliveries(key.tenant_id, webhooks, event, data, f"run {key.pk}")


@transaction.atomic
def send_test(*, webhook: Webhook) -> WebhookDelivery:
    """Create a test delivery for a webhook, active or not."""
    event_key = uuid.uuid4().hex
    create_deliveries(webhook.tenant_id, [webhook.pk], TEST_EVENT, {"webhook": webhook.name}, event_key)
    message_id = message_id_of(webhook.tenant_id, TEST_EVENT, event_key)
    return WebhookDelivery.objects.get(webhook=webhook, tenant_id=webhook.tenant_id, message_id=message_id)


def new_secret() -> str:
    """Return a new secret in the specification's format."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


@transaction.atomic
def rotate_secret(*, webhook: Webhook, actor: audit_trail.Actor) -> str:
    """Give a webhook a new secret and return it; the previous one also signs for `SECRET_OVERLAP`."""
    row = Webhook.objects.select_for_update().get(pk=webhook.pk, tenant_id=webhook.tenant_id)
    row.previous_secret, row.secret = row.secret, new_secret()
    row.previous_secret_until = timezone.now() + SECRET_OVERLAP
    row.save(update_fields=["secret", "previous_secret", "previous_secret_until"])
    audit_trail.record(actor=actor, action="webhook.rotate", target=str(row), tenant=row.tenant)
    return row.secret


def secrets_of(webhook: Webhook, now: datetime) -> tuple[str, ...]:
    """Return the secrets that are valid at `now`, the newest first."""
    until = webhook.previous_secret_until
    is_overlapping = webhook.previous_secret and until is not None and now < until
    return (webhook.secret, webhook.previous_secret) if is_overlapping else (webhook.secret,)


def signed_headers(*, message_id: str, body: str, secrets: Sequence[str], now: datetime) -> dict[str, str]:
    """Return the headers that authenticate a message: its id, time and signatures."""
    timestamp = str(int(now.timestamp()))
    signed = f"{message_id}.{timestamp}.{body}".encode()
    signatures = [_signature(secret, signed) for secret in secrets]
    return {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": " ".join(signatures)}


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
