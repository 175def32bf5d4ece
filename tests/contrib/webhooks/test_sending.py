"""How messages are sent: signed, again and again, by several processes, and without one receiver holding up another."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from assistant.contrib.webhooks.models import Webhook, WebhookDelivery
from assistant.contrib.webhooks.services.deliveries import (
    CLAIM_TIMEOUT,
    DISABLE_AFTER,
    MAX_PER_WEBHOOK,
    RETRY_DELAYS,
    Attempt,
    claim_due,
    record_attempt,
    resend,
)
from assistant.contrib.webhooks.services.events import SECRET_OVERLAP, record_event, rotate_secret, send_test
from assistant.contrib.webhooks.services.sender import WebhookSender, send_due
from assistant.models import AuditEntry, Provider, Tenant
from assistant.services.tenant_events import QUOTA_REACHED
from tests.base import Cast
from tests.contrib.webhooks.hooks import hook
from tests.contrib.webhooks.receiver import Received, Receiver
from tests.fake_provider import FakeProvider
from tests.live import serve
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("on_loopback")]


def happen(tenant: Tenant, number: int = 1) -> None:
    for _ in range(number):
        record_event(tenant_id=tenant.pk, event=QUOTA_REACHED, data={}, event_key=uuid.uuid4().hex)


def send() -> int:
    return asyncio.run(send_due())


def make_due() -> None:
    WebhookDelivery.objects.filter(status="pending").update(next_try_at=timezone.now() - timedelta(seconds=1))


def is_from(secret: str, received: Received) -> bool:
    try:
        Verifier(secret).verify(received.body, received.headers)
    except WebhookVerificationError:
        return False
    return True


def test_a_message_is_signed_as_the_specification_has_it(cast: Cast, receiver: Receiver) -> None:
    webhook = hook(cast.acme, receiver.url)
    happen(cast.acme)
    assert send() == 1
    (got,) = receiver.received
    assert Verifier(webhook.secret).verify(got.body, got.headers)["type"] == "quota.reached"
    assert got.headers["content-type"] == "application/json"
    row = WebhookDelivery.objects.get()
    assert (row.status, row.attempts, row.response_code, row.next_try_at) == ("delivered", 1, 204, None)
    assert got.id == row.message_id
    assert not is_from(hook(cast.globex, receiver.url).secret, got)
    assert not is_from(webhook.secret, Received(got.path, got.headers, got.body + b" "))


def test_after_a_rotation_both_secrets_hold_for_a_day(cast: Cast, receiver: Receiver) -> None:
    webhook = hook(cast.acme, receiver.url)
    new = rotate_secret(webhook=webhook, actor=cast.amy)
    happen(cast.acme)
    send()
    assert is_from(webhook.secret, receiver.received[0])
    assert is_from(new, receiver.received[0])
    Webhook.objects.update(previous_secret_until=timezone.now() + SECRET_OVERLAP - timedelta(hours=24, seconds=1))
    happen(cast.acme)
    send()
    assert not is_from(webhook.secret, receiver.received[1])
    assert is_from(new, receiver.received[1])


def test_a_failure_is_tried_again_later_under_the_same_id(cast: Cast, receiver: Receiver) -> None:
    hook(cast.acme, receiver.url)
    receiver.status = 503
    happen(cast.acme)
    for attempt, wait in enumerate(RETRY_DELAYS[:3], start=1):
        before = timezone.now()
        send()
        row = WebhookDelivery.objects.get()
        assert (row.status, row.attempts, row.response_code) == ("pending", attempt, 503)
        assert row.next_try_at is not None
        assert row.next_try_at > before + wait * 0.9
        assert send() == 0
        make_due()
    assert Webhook.objects.get().failing_since is not None
    receiver.status = 200
    send()
    assert WebhookDelivery.objects.get().status == "delivered"
    assert Webhook.objects.get().failing_since is None
    assert len({(got.id, got.body) for got in receiver.received}) == 1
    assert len(receiver.received) == 4


def test_it_is_given_up_in_the_end_and_can_be_sent_again(cast: Cast, receiver: Receiver) -> None:
    hook(cast.acme, receiver.url)
    receiver.status = 500
    happen(cast.acme)
    for _ in range(len(RETRY_DELAYS) + 1):
        make_due()
        send()
    row = WebhookDelivery.objects.get()
    assert (row.status, row.next_try_at, row.attempts) == ("failed", None, 10)
    receiver.status = 200
    resend(delivery=row)
    send()
    row.refresh_from_db()
    assert (row.status, row.attempts) == ("delivered", 1)
    assert len({got.id for got in receiver.received}) == 1


@pytest.mark.parametrize("ending", ["long failure", "gone"])
def test_a_webhook_that_fails_for_days_is_switched_off(ending: str, cast: Cast, receiver: Receiver) -> None:
    webhook = hook(cast.acme, receiver.url)
    receiver.status = 500 if ending == "long failure" else 410
    happen(cast.acme, 2)
    if ending == "long failure":
        send()
        webhook.refresh_from_db()
        assert webhook.is_active
        Webhook.objects.update(failing_since=timezone.now() - DISABLE_AFTER)
        make_due()
    send()
    webhook.refresh_from_db()
    assert not webhook.is_active
    assert webhook.disabled_at is not None
    entry = AuditEntry.objects.get(action="webhook.disable")
    assert (entry.tenant, entry.target) == (cast.acme, webhook.name)
    make_due()
    assert send() == 0
    assert WebhookDelivery.objects.filter(status="pending").count() == 2


@pytest.mark.parametrize(
    "url", ["https://10.0.0.1/", "https://169.254.169.254/", "http://127.0.0.1:1/", "https://[::1]/"]
)
def test_the_inside_is_not_asked(url: str, cast: Cast, settings: Any) -> None:
    settings.DEBUG = False
    hook(cast.acme, url)
    happen(cast.acme)
    send()
    row = WebhookDelivery.objects.get()
    assert row.response_code is None
    assert "private or special network" in row.error or "https://" in row.error


def test_a_redirect_is_not_followed(cast: Cast, receiver: Receiver) -> None:
    hook(cast.acme, receiver.url)
    receiver.status, receiver.headers = 307, {"Location": f"{receiver.url}/elsewhere"}
    happen(cast.acme)
    send()
    assert [got.path for got in receiver.received] == ["/hook"]
    assert WebhookDelivery.objects.get().response_code == 307


def test_an_endless_answer_is_not_read(cast: Cast, receiver: Receiver) -> None:
    sent = Counter[str]()

    def pour(file: Any) -> None:
        try:
            while sent["bytes"] < 2**30:
                sent["bytes"] += file.write(b"x" * 2**16)
        except OSError:
            pass

    receiver.status, receiver.tail = 200, pour
    hook(cast.acme, receiver.url)
    happen(cast.acme)
    send()
    assert WebhookDelivery.objects.get().status == "delivered"
    assert sent["bytes"] < 2**26


def test_what_a_dead_process_had_taken_is_due_again(cast: Cast, receiver: Receiver) -> None:
    hook(cast.acme, receiver.url)
    happen(cast.acme)
    (lost,) = claim_due(sending={}, limit=10)
    assert claim_due(sending={}, limit=10) == []
    row = WebhookDelivery.objects.get()
    assert row.next_try_at is not None
    assert row.next_try_at > timezone.now() + CLAIM_TIMEOUT / 2
    make_due()
    send()
    # The first was not dead, but late: what came of its try is not kept over the other's.
    record_attempt(delivery=lost, attempt=Attempt(500, "", 1))
    row.refresh_from_db()
    assert (row.status, row.attempts) == ("delivered", 1)
    assert lost.message_id == receiver.received[0].id


def test_of_many_claimers_each_message_goes_to_one(cast: Cast) -> None:
    for number in range(5):
        hook(cast.acme if number % 2 else cast.globex, f"https://{number}.example.com/")
    happen(cast.acme, 6)
    happen(cast.globex, 6)
    total = WebhookDelivery.objects.count()

    def take(_: int) -> list[int]:
        try:
            return [work.pk for _ in range(6) for work in claim_due(sending={}, limit=7)]
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        taken = [pk for some in pool.map(take, range(8)) for pk in some]
    assert len(taken) == len(set(taken)) == total


def test_a_slow_receiver_holds_up_nobody_else(cast: Cast, receiver: Receiver) -> None:
    receiver.gate = threading.Event()
    hook(cast.acme, receiver.url)
    with Receiver() as quick:
        hook(cast.globex, quick.url)
        happen(cast.acme, 40)
        happen(cast.globex, 12)

        async def main() -> None:
            courier = WebhookSender()
            courier.start()
            await asyncio.to_thread(quick.wait_for, 12)
            await courier.stop()

        asyncio.run(main())
    assert len(receiver.received) <= MAX_PER_WEBHOOK
    # What the courier had in hand when it was stopped is due at once, for the next process.
    assert len(claim_due(sending={}, limit=100)) == MAX_PER_WEBHOOK


def test_the_command_sends_what_is_due(cast: Cast, receiver: Receiver, capsys: pytest.CaptureFixture[str]) -> None:
    send_test(webhook=hook(cast.acme, receiver.url, is_active=False))
    call_command("assistant_deliver_webhooks")
    assert capsys.readouterr().out == "1 messages were sent or tried.\n"
    assert b'"webhook.test"' in receiver.received[0].body


async def test_the_serving_process_tells_of_a_run(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, receiver: Receiver
) -> None:
    webhook = await in_db(hook)(cast.acme, receiver.url)
    fake_provider.reply("A word of the answer.")
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.contrib.webhooks.settings"}) as site:
        async with open_socket(site.url, user=cast.alice) as socket:
            frames = await socket.ask("A word of the question")
        (got,) = await asyncio.to_thread(receiver.wait_for, 1)
    told = Verifier(webhook.secret).verify(got.body, got.headers)
    assert told["data"]["run"] == frames[0]["runId"]
    assert b"A word" not in got.body
