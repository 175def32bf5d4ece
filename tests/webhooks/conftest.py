"""Fixtures of the webhooks' tests: a receiver, and rows that lead to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.models import Tenant, Webhook
from assistant.services.webhooks.events import new_secret
from tests.webhooks.receiver import Receiver

EVENTS = [str(event) for event in Webhook.Event]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        yield running


@pytest.fixture
def on_loopback(settings: object) -> None:
    """In development the machine itself may be asked, as the receiver must be."""
    settings.DEBUG = True  # type: ignore[attr-defined]


def hook(tenant: Tenant, url: str, **fields: object) -> Webhook:
    """A webhook that wants every event, unless `events` says which."""
    number = Webhook.objects.count() + 1
    row = {"name": f"hook {number}", "url": url, "events": EVENTS, "secret": new_secret(), **fields}
    return Webhook.objects.create(tenant=tenant, **row)
