"""What webhooks are told of runs that wait for results from outside."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async

from assistant.contrib.webhooks.models import WebhookDelivery
from tests.base import Cast
from tests.contrib.later_results.test_waiting_runs import tools, wait_for_bank
from tests.contrib.webhooks.hooks import hook
from tests.fake_provider import FakeProvider

__all__ = ["tools"]
pytestmark = pytest.mark.django_db(transaction=True)


async def test_webhooks_hear_of_no_approval(cast: Cast, fake_provider: FakeProvider) -> None:
    await sync_to_async(hook)(cast.acme, "https://crm.example/in", events=["approval.wanted", "run.finished"])
    await wait_for_bank(cast, fake_provider)
    assert not await WebhookDelivery.objects.aexists()
