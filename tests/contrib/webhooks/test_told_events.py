"""What webhooks are told of limits and spend, and how long it is kept."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from assistant.contrib.insights.services.spend_warnings import record_reached
from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.core.values.quota_kinds import Windows
from assistant.models import Retention
from assistant.services.limits.quota_ledger import record_quota_reached
from assistant.services.privacy.retention_rules import kinds
from tests.base import Cast
from tests.contrib.insights import test_spend_warnings as warnings
from tests.contrib.insights.test_spend_warnings import NOW
from tests.contrib.webhooks.hooks import hook
from tests.services.limits import test_quota_ledger as ledger
from tests.services.privacy.test_retention import age, run

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_webhook_event_says_how_much(cast: Cast) -> None:
    warnings.limit(cast.acme)
    hook(cast.acme, "https://hooks.example.com/")
    hook(cast.globex, "https://hooks.example.com/")
    warnings.spend(cast.acme, 8.5)
    record_reached(now=NOW)
    record_reached(now=NOW)
    bodies = [json.loads(row.body) for row in WebhookDelivery.objects.filter(tenant=cast.acme).order_by("pk")]
    assert [body["data"]["percent"] for body in bodies] == [50, 80]
    assert bodies[1]["type"] == "spend.threshold"
    assert bodies[1]["data"] == {
        "tenant": "acme", "month": "2026-03", "percent": 80, "spent": 8_500_000, "limit": 10_000_000,
    }  # fmt: skip
    assert not WebhookDelivery.objects.filter(tenant=cast.globex).exists()


def test_webhooks_get_one_event_in_a_window(cast: Cast) -> None:
    hook(cast.acme, "https://hooks.example.com/")
    ledger.limit(cast, member_messages_per_day=1)
    ledger.begin(cast.alice.pk)
    for _ in range(2):
        record_quota_reached(tenant_id=cast.acme.pk, user_id=cast.alice.pk, reached=ledger.refused(cast.alice.pk))
    data = json.loads(WebhookDelivery.objects.get().body)["data"]
    assert (data["quota"], data["scope"], data["limit"], data["user"]) == (
        "messages_per_day",
        "member",
        1,
        cast.alice.pk,
    )
    assert data["resets_at"] == f"{Windows.at(timezone.now()).end('day'):%Y-%m-%dT%H:%M:%SZ}"


def test_old_messages_of_the_tenant_with_a_period_are_deleted(cast: Cast) -> None:
    for tenant in (cast.acme, cast.globex):
        webhook = hook(tenant, "https://crm.example/in")
        for days in (40, 0):
            row = WebhookDelivery.objects.create(
                tenant=tenant, webhook=webhook, message_id=str(days), event="run.finished", body="{}"
            )
            age(row, days)
    Retention.objects.create(tenant=cast.acme, deliveries=30)
    assert "deliveries" in kinds()
    assert run() == "acme: 1 webhook deliveries\n"
    assert [row.message_id for row in WebhookDelivery.objects.filter(tenant=cast.acme)] == ["0"]
    assert WebhookDelivery.objects.filter(tenant=cast.globex).count() == 2
