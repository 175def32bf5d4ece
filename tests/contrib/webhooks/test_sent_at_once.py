"""Deliveries do not wait for the next look at the queue."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from django.utils import timezone

from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.contrib.webhooks.services import sender
from assistant.contrib.webhooks.services.deliveries import resend
from assistant.contrib.webhooks.services.sender import WebhookSender
from assistant.services.db.threads import in_database
from tests.base import Cast
from tests.contrib.webhooks.hooks import hook
from tests.contrib.webhooks.receiver import Receiver
from tests.contrib.webhooks.test_sending import happen
from tests.websocket.test_websocket import in_db

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("on_loopback")]


@pytest.mark.parametrize("is_again", [False, True])
def test_what_this_process_stores_is_sent_at_once(
    cast: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, is_again: bool
) -> None:
    monkeypatch.setattr(sender, "POLL_SECONDS", 60.0)
    own = hook(cast.acme, receiver.url)

    async def main() -> None:
        courier = WebhookSender()
        courier.start()
        while courier._next_in != 60.0:
            await asyncio.sleep(0.01)
        await in_database(bool)  # after its look, which finds nothing
        await in_db(happen)(cast.acme, 1)
        await asyncio.to_thread(receiver.wait_for, 1)
        if is_again:
            row = await WebhookDelivery.objects.aget(webhook=own)
            await in_db(resend)(delivery=row)
            await asyncio.to_thread(receiver.wait_for, 2)
        await courier.stop()

    asyncio.run(main())


def test_a_delivery_that_is_due_soon_is_sent_at_its_moment(
    cast: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "POLL_SECONDS", 60.0)
    hook(cast.acme, receiver.url)
    happen(cast.acme, 1)
    WebhookDelivery.objects.update(next_try_at=timezone.now() + timedelta(seconds=1))

    async def main() -> None:
        courier = WebhookSender()
        courier.start()
        await asyncio.to_thread(receiver.wait_for, 1)
        await courier.stop()

    asyncio.run(main())
