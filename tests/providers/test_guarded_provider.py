"""Providers whose address a tenant has set are called through the URL guard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from pytest_django import Settings

from assistant.core.llm.protocol import Model, ModelError, ModelRequest
from assistant.core.values.messages import Message, Reply
from assistant.models import Assistant, Tenant
from assistant.providers import model_class
from assistant.services.assistants.configuration import with_prompt
from assistant.services.assistants.provider_choice import choose_provider, model_of
from assistant.toolkit.guards.internal_hosts import parse_internal_host
from assistant.toolkit.guards.url_guard import UrlGuard
from tests.base import Cast
from tests.factories import make_provider
from tests.fake_answers import Answer, Step
from tests.fake_provider import FakeProvider
from tests.providers.asking import ask


async def test_a_provider_at_an_internal_address_is_not_connected_to(fake_provider: FakeProvider) -> None:
    _, outcome = await ask(fake_provider, guard=UrlGuard())
    assert isinstance(outcome, ModelError)
    assert fake_provider.connections == 0


async def test_an_allowed_guarded_provider_answers(fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello")
    _, outcome = await ask(fake_provider, guard=UrlGuard(allow_loopback=True))
    assert isinstance(outcome, Reply)
    assert outcome.text == "Hello"


def model_for(cast: Cast, *, owner: Tenant | None, url: str) -> Model:
    """What answers for Acme's assistant with a provider of `owner`."""
    cast.support.provider = make_provider(owner, base_url=url)
    cast.support.save()
    return model_of(choose_provider(with_prompt(Assistant.objects.filter(pk=cast.support.pk)).get()))


async def say_hi(model: Model) -> str:
    try:
        return [item.text async for item in model.stream(ModelRequest([Message("user", "Hi")])) if item][-1]
    except ModelError:
        return "failed"


def test_a_tenants_provider_cannot_have_an_internal_address(cast: Cast, fake_provider: FakeProvider) -> None:
    assert asyncio.run(say_hi(model_for(cast, owner=cast.acme, url=fake_provider.url))) == "failed"
    assert fake_provider.connections == 0


def test_the_deployments_provider_may_have_an_internal_address(cast: Cast, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello")
    assert asyncio.run(say_hi(model_for(cast, owner=None, url=fake_provider.url))) == "Hello"


def test_in_development_a_tenants_provider_may_be_on_loopback(
    cast: Cast, fake_provider: FakeProvider, settings: Settings
) -> None:
    settings.DEBUG = True
    fake_provider.reply("Hello")
    assert asyncio.run(say_hi(model_for(cast, owner=cast.acme, url=fake_provider.url))) == "Hello"


def test_a_provider_at_an_internal_host_that_is_listed_answers(
    cast: Cast, fake_provider: FakeProvider, settings: Settings
) -> None:
    port = urlsplit(fake_provider.url).port
    settings.ASSISTANT_INTERNAL_HOSTS = (parse_internal_host(f"127.0.0.1:{port}"),)
    fake_provider.reply("Hello")
    assert asyncio.run(say_hi(model_for(cast, owner=cast.acme, url=fake_provider.url))) == "Hello"


@pytest.mark.parametrize("url", ["http://a.example/v1", "https://127.0.0.1/v1", "https://169.254.169.254/v1"])
def test_the_guard_checks_every_kind_of_address(cast: Cast, url: str) -> None:
    assert asyncio.run(say_hi(model_for(cast, owner=cast.acme, url=url))) == "failed"


class Endless(list[Step]):
    """A body of 64 MiB in pieces, which counts the bytes that the server has come to send."""

    sent = 0

    def __iter__(self) -> Iterator[Step]:
        for _ in range(1024):
            self.sent += 65536
            yield b"data: x\n" * 8192
            yield 0.0  # lets the server notice that nobody listens


@pytest.mark.parametrize("is_guarded", [True, False])
@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("wire_format", ["chat-completions", "responses", "anthropic", "google"])
async def test_an_endless_error_is_read_within_a_bound(
    fake_provider: FakeProvider, wire_format: str, status: int, is_guarded: bool
) -> None:
    body = Endless()
    fake_provider.queue(Answer(body, status))
    guard = UrlGuard(allow_loopback=True) if is_guarded else None
    model = model_class(wire_format)("m", base_url=fake_provider.url, api_key="k", max_retries=0, guard=guard)
    with pytest.raises(ModelError) as raised:
        await anext(aiter(model.stream(ModelRequest([Message("user", "Hi")]))))
    assert raised.value.details is not None and raised.value.details.status == status
    assert 0 < body.sent < 2**25, "what the socket's buffers take, and no more"
