"""Webhooks are told of each new entry of their tenant's audit, once, and of no other's."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.contrib.webhooks.models import Webhook, WebhookDelivery
from assistant.contrib.webhooks.services import audit_events
from assistant.contrib.webhooks.services.audit_events import AUDIT_ENTRY, tell_of_entries
from assistant.models import AuditEntry, Tenant
from tests.base import Cast
from tests.contrib.webhooks.hooks import hook

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.com/"


def entry(tenant: Tenant | None, target: str, *, seconds: int = 60, **fields: Any) -> AuditEntry:
    made = AuditEntry.objects.create(tenant=tenant, action="tool.switch", target=target, **fields)
    AuditEntry.objects.filter(pk=made.pk).update(created_at=timezone.now() - timedelta(seconds=seconds))
    made.refresh_from_db()
    return made


def wanted(tenant: Tenant, **fields: Any) -> Webhook:
    made = hook(tenant, URL, **{"events": [AUDIT_ENTRY], **fields})
    Webhook.objects.filter(pk=made.pk).update(created_at=timezone.now() - timedelta(days=1))
    return made


def told(tenant: Tenant) -> list[str]:
    """Return what the entries are about that webhooks of a tenant were told of, in the order in which they were."""
    rows = WebhookDelivery.objects.filter(tenant=tenant, event=AUDIT_ENTRY).order_by("pk")
    numbers = [json.loads(row.body)["data"]["entry"] for row in rows]
    targets = dict(AuditEntry.objects.filter(tenant=tenant).values_list("pk", "target"))
    return [targets[number] for number in numbers]


def test_each_new_entry_is_told_once_and_says_who_did_what(cast: Cast) -> None:
    wanted(cast.acme)
    first = entry(cast.acme, "refund", actor=cast.amy, details={"reason": "They shouted."})
    entry(cast.globex, "rivals")
    entry(None, "the deployment's")
    assert (tell_of_entries(), tell_of_entries()) == (1, 0)
    body = json.loads(WebhookDelivery.objects.get().body)
    assert body["type"] == "audit.entry"
    assert body["data"] == {
        "tenant": "acme", "entry": first.pk, "action": "tool.switch", "user": cast.amy.pk,
        "at": first.created_at.isoformat(),
    }  # fmt: skip
    entry(cast.acme, "find_orders")
    assert tell_of_entries() == 1
    assert told(cast.acme) == ["refund", "find_orders"]
    assert told(cast.globex) == []


def test_a_webhook_begins_with_the_last_hour(cast: Cast) -> None:
    wanted(cast.acme)
    entry(cast.acme, "old", seconds=2 * 3600)
    entry(cast.acme, "new")
    tell_of_entries()
    assert told(cast.acme) == ["new"]


def test_an_entry_that_appears_after_a_later_one_is_told_too(cast: Cast) -> None:
    wanted(cast.acme)
    late = entry(cast.acme, "committed late")
    number = late.pk
    late.delete()
    entry(cast.acme, "later")
    tell_of_entries()
    entry(cast.acme, "committed late", seconds=300, pk=number)
    assert (tell_of_entries(), tell_of_entries()) == (1, 0)
    assert told(cast.acme) == ["later", "committed late"]


def test_names_do_not_go_into_deliveries_which_outlive_them(cast: Cast) -> None:
    wanted(cast.acme)
    entry(cast.acme, "Alice Liddell", actor=cast.amy, details={"before": "Alice"})
    tell_of_entries()
    assert "Alice" not in WebhookDelivery.objects.get().body


def test_many_follow_with_the_next_looks(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_events, "MAX_AT_ONCE", 2)
    wanted(cast.acme)
    for number in range(5):
        entry(cast.acme, f"tool {number}")
    assert [tell_of_entries() for _ in range(4)] == [2, 2, 1, 0]


def test_those_that_want_other_events_or_are_off_are_told_nothing(cast: Cast) -> None:
    wanted(cast.acme, events=["run.finished"])
    wanted(cast.acme, is_active=False)
    wanted(cast.globex)
    Tenant.objects.filter(pk=cast.globex.pk).update(is_active=False)
    entry(cast.acme, "refund")
    entry(cast.globex, "refund")
    assert tell_of_entries() == 0
