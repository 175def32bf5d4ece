"""The searches that every process makes every few seconds cost almost nothing if there is nothing to do."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.webhooks.models import Webhook, WebhookDelivery
from assistant.contrib.webhooks.services.deliveries import claim_due
from assistant.models import Run
from assistant.services.runs.leases import take_over_dead_runs
from tests.base import Cast
from tests.factories import make_conversation, make_run


def test_finding_nothing_costs_one_query_and_no_lock(cast: Cast) -> None:
    in_time = timezone.now() + timedelta(seconds=5)
    make_run(make_conversation(cast.alice, cast.support), status=Run.Status.RUNNING, lease_until=in_time)
    hook = Webhook.objects.create(tenant=cast.acme, name="CRM", url="https://crm.example/in")
    WebhookDelivery.objects.create(tenant=cast.acme, webhook=hook, message_id="m1", next_try_at=in_time)
    off = Webhook.objects.create(tenant=cast.acme, name="Old", url="https://old.example/in", is_active=False)
    WebhookDelivery.objects.create(tenant=cast.acme, webhook=off, message_id="m2", next_try_at=timezone.now())
    for look in (lambda: take_over_dead_runs(owner="here"), lambda: claim_due(sending={}, limit=5)):
        assert look() == []  # SQL is written at first use
        with CaptureQueriesContext(connection) as queries:
            assert look() == []
        assert [query["sql"].split()[0] for query in queries] == ["SELECT"]


def test_rows_that_are_not_due_do_not_hide_one_that_is(cast: Cast) -> None:
    now = timezone.now()
    leases = {"none": None, "in time": now + timedelta(seconds=5), "dead": now - timedelta(seconds=1)}
    runs = {
        name: make_run(make_conversation(cast.alice, cast.support), status=Run.Status.RUNNING, lease_until=until)
        for name, until in leases.items()
    }
    assert [dead.key.pk for dead in take_over_dead_runs(owner="here")] == [runs["dead"].pk]

    hook = Webhook.objects.create(tenant=cast.acme, name="CRM", url="https://crm.example/in")
    for name, at in leases.items():
        WebhookDelivery.objects.create(tenant=cast.acme, webhook=hook, message_id=name, next_try_at=at)
    assert [claimed.message_id for claimed in claim_due(sending={}, limit=5)] == ["dead"]
