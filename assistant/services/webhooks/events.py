"""Webhooks: a tenant's events, written down to be sent in the transaction of what they tell of, and their secrets.

The headers and signatures are those of https://www.standardwebhooks.com.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from django.db import transaction
from django.db.models import QuerySet
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from assistant.models import Assistant, Tenant, ToolCall, Webhook, WebhookDelivery
from assistant.services.db.prepared_queries import PreparedQuery
from assistant.services.run_key import RunKey
from assistant.services.tenancy import audit_trail

SECRET_PREFIX = "whsec_"  # noqa: S105 - the specification's mark of a secret  # nosec B105
SECRET_BYTES = 32
# After a rotation both secrets sign for so long, so that a receiver can change over in its own time.
OVERLAP = timedelta(hours=24)
# Each is a door to the outside that this server's time is spent on.
MAX_PER_TENANT = 20
TEST = "webhook.test"


def record_event(*, tenant_id: int, event: str, facts: Mapping[str, Any], once: str) -> int:
    """Write down an event for each of the tenant's webhooks that want it; returns how many do.

    To be called in the transaction of what happened. `once` names what happened among all events of the kind: told a
    second time, it is the same message and nothing is sent twice. `facts` is JSON, and holds no word that was said.
    """
    wanting = _wanting(tenant_id, event)
    return _write(tenant_id, wanting, event, facts, once) if wanting else 0


def _active(*, tenant_id: int) -> QuerySet[Webhook]:
    return Webhook.objects.filter(tenant_id=tenant_id, is_active=True).only("events").order_by("pk")


# Asked at the end of every run, and most tenants have none.
_ACTIVE = PreparedQuery(_active, tenant_id=int)


def _wanting(tenant_id: int, event: str) -> list[int]:
    return [row.pk for row in _ACTIVE.rows(tenant_id=tenant_id) if event in row.events]


def _write(tenant_id: int, webhooks: Sequence[int], event: str, facts: Mapping[str, Any], once: str) -> int:
    now = timezone.now()
    slug = Tenant.objects.values_list("slug", flat=True).get(pk=tenant_id)
    # The version of the text that is signed is the one that is sent: it is kept as it is.
    body = json.dumps(
        {"type": event, "timestamp": now.astimezone(UTC).isoformat(), "data": {"tenant": slug, **facts}},
        separators=(",", ":"),
        default=str,  # ids of users may be UUIDs
    )
    message_id = _message_id(tenant_id, event, once)
    WebhookDelivery.objects.bulk_create(
        [
            WebhookDelivery(
                tenant_id=tenant_id, webhook_id=pk, message_id=message_id, event=event, body=body, next_try_at=now
            )
            for pk in webhooks
        ],
        ignore_conflicts=True,
    )
    return len(webhooks)


def _message_id(tenant_id: int, event: str, once: str) -> str:
    """The same for the same event, and no other deployment's: rows are numbered alike everywhere."""
    return (
        "msg_" + salted_hmac("assistant.webhooks", f"{tenant_id} {event} {once}", algorithm="sha256").hexdigest()[:40]
    )


def record_run_event(*, key: RunKey, status: str, error_code: str, input_tokens: int, output_tokens: int) -> None:
    """A run has ended: `run.finished`, or `approval.wanted` if it waits for a person. In its own transaction."""
    waits = status == "waiting"
    event = Webhook.Event.APPROVAL_WANTED if waits else Webhook.Event.RUN_FINISHED
    wanting = _wanting(key.tenant_id, event)
    if not wanting:
        return
    tenant = Tenant.objects.values_list("slug", flat=True).get(pk=key.tenant_id)
    assistant = Assistant.objects.values_list("slug", flat=True).get(pk=key.assistant_id, tenant_id=key.tenant_id)
    facts: dict[str, Any] = {
        "run": key.run_id,
        "conversation": key.thread,
        "assistant": assistant,
        "user": key.user_id,
        "status": status,
        "url": run_url(tenant=tenant, run_id=key.run_id),
    }
    if waits:
        asked = ToolCall.objects.filter(
            tenant_id=key.tenant_id, run_id=key.pk, status=ToolCall.Status.AWAITING_APPROVAL
        )
        facts["calls"] = [{"id": call, "tool": name} for call, name in asked.values_list("call_id", "name")]
        facts["approvals_url"] = f"{facts['url']}approvals/" if facts["url"] else ""
    else:
        facts |= {"error_code": error_code, "input_tokens": input_tokens, "output_tokens": output_tokens}
    _write(key.tenant_id, wanting, event, facts, f"run {key.pk}")


def run_url(*, tenant: str, run_id: str) -> str:
    """The path at which REST has a run; empty in a project that leaves the product's addresses out."""
    try:
        base = reverse("assistant:run", kwargs={"tenant": tenant, "run_id": "-"}).removesuffix("-/")
    except NoReverseMatch:
        return ""
    # Ids may hold characters that paths give a meaning.
    return f"{base}{quote(run_id, safe='')}/"


@transaction.atomic
def send_test(*, webhook: Webhook) -> WebhookDelivery:
    """Send a webhook an event that tells of nothing, whether it is switched on for any or not."""
    _write(webhook.tenant_id, [webhook.pk], TEST, {"webhook": webhook.name}, once := uuid.uuid4().hex)
    message_id = _message_id(webhook.tenant_id, TEST, once)
    return WebhookDelivery.objects.get(webhook=webhook, tenant_id=webhook.tenant_id, message_id=message_id)


def new_secret() -> str:
    """A secret of a webhook, as the specification writes it."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


@transaction.atomic
def rotate_secret(*, webhook: Webhook, actor: audit_trail.Actor) -> str:
    """Give a webhook a new secret, which is returned; the old one signs beside it for `OVERLAP`."""
    row = Webhook.objects.select_for_update().get(pk=webhook.pk, tenant_id=webhook.tenant_id)
    row.previous_secret, row.secret = row.secret, new_secret()
    row.previous_secret_until = timezone.now() + OVERLAP
    row.save(update_fields=["secret", "previous_secret", "previous_secret_until"])
    audit_trail.record(actor=actor, action="webhook.rotate", target=str(row), tenant=row.tenant)
    return row.secret


def secrets_of(webhook: Webhook, now: datetime) -> tuple[str, ...]:
    """The secrets that sign at this moment, the newest first."""
    until = webhook.previous_secret_until
    is_overlapping = webhook.previous_secret and until is not None and now < until
    return (webhook.secret, webhook.previous_secret) if is_overlapping else (webhook.secret,)


def signed_headers(*, message_id: str, body: str, secrets: Sequence[str], now: datetime) -> dict[str, str]:
    """The headers by which a receiver knows who sent a message, and when."""
    timestamp = str(int(now.timestamp()))
    signed = f"{message_id}.{timestamp}.{body}".encode()
    signatures = [_signature(secret, signed) for secret in secrets]
    return {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": " ".join(signatures)}


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
