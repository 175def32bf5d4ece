"""What docs/webhooks.md says: its receiver takes what we send and nothing else, and its figures are the code's."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import RequestFactory
from django.utils import timezone

from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.contrib.webhooks.services.deliveries import MAX_PER_WEBHOOK, MAX_SENDING_PER_TENANT, RETRY_DELAYS
from assistant.contrib.webhooks.services.events import (
    MAX_WEBHOOKS,
    SECRET_OVERLAP,
    TEST_EVENT,
    new_secret,
    send_test,
    signed_headers,
)
from assistant.contrib.webhooks.services.sender import SEND_SECONDS
from tests.base import Cast
from tests.contrib.webhooks.hooks import hook
from tests.docs.snippets import ROOT, blocks

DOCUMENT = ROOT / "docs/webhooks.md"
TEXT = DOCUMENT.read_text()


@pytest.fixture
def receive(monkeypatch: pytest.MonkeyPatch, db: None, cast: Cast) -> Any:
    """The document's view, given our message; `how` changes it on its way."""
    webhook = hook(cast.acme, "https://hooks.example.com/")
    monkeypatch.setenv("WEBHOOK_SECRET", webhook.secret)
    view: dict[str, Any] = {}
    exec(blocks(DOCUMENT, "python")[0].text, view)
    row = send_test(webhook=webhook)
    cache.clear()

    def call(*, tail: str = "", secret: str = webhook.secret, seconds_ago: int = 0) -> int:
        when = timezone.now() - timedelta(seconds=seconds_ago)
        headers = signed_headers(message_id=row.message_id, body=row.body, secrets=[secret], now=when)
        request = RequestFactory().post("/", row.body + tail, content_type="application/json", headers=headers)
        return int(view["assistant_event"](request).status_code)

    return call


def test_the_receiver_takes_each_message_once(receive: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert [receive(), receive()] == [204, 204]
    assert capsys.readouterr().out.count(TEST_EVENT) == 1


@pytest.mark.parametrize(
    "how", [{"tail": " "}, {"secret": new_secret()}, {"seconds_ago": 400}], ids=["tail", "secret", "time"]
)
def test_the_receiver_takes_nothing_else(how: dict[str, Any], receive: Any) -> None:
    assert receive(**how) == 400


def test_the_example_has_the_fields_that_are_sent(cast: Cast) -> None:
    from tests.contrib.webhooks.test_outbox import FINISHED, close_run, opened_by_alice

    hook(cast.acme, "https://hooks.example.com/")
    close_run(key=opened_by_alice(cast).key, messages=[], usage={}, ending=FINISHED, last_seq=2)
    sent = json.loads(WebhookDelivery.objects.get().body)
    shown = json.loads(blocks(DOCUMENT, "json")[0].text)
    assert [sorted(shown), sorted(shown["data"])] == [sorted(sent), sorted(sent["data"])]


def test_the_figures_are_the_codes() -> None:
    seconds = [int(wait.total_seconds()) for wait in RETRY_DELAYS]
    assert seconds == [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]
    assert "after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h" in TEXT
    assert f"**{SEND_SECONDS:g} s**" in TEXT
    assert f"at most {MAX_PER_WEBHOOK} messages of one webhook" in TEXT
    assert f"and {MAX_SENDING_PER_TENANT} of one tenant" in TEXT
    assert f"at most {MAX_WEBHOOKS} webhooks" in TEXT
    assert f"for {SECRET_OVERLAP.total_seconds() / 3600:g} hours" in TEXT
