"""Which class answers for a wire format, what the operator has switched off, and the guard of tenants' addresses."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from django.core.checks import run_checks

from assistant.core.llm.protocol import Model, ModelError, ModelRequest
from assistant.core.values.messages import Message
from assistant.core.values.wire_formats import WIRE_FORMATS
from assistant.models import Assistant, Provider, Tenant
from assistant.providers import FORMATS, AnthropicModel, GoogleModel, OpenAIModel
from assistant.services.assistants.configuration import with_prompt
from assistant.services.assistants.provider_choice import choose_provider, model_of
from tests.base import Cast
from tests.factories import make_provider
from tests.fake_provider import FakeProvider
from tests.providers.native.wires import WIRES, Wire

CLASSES = {"anthropic": AnthropicModel, "google": GoogleModel}


@pytest.fixture(params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


def model_for(cast: Cast, *, owner: Tenant | None, url: str, **fields: Any) -> Model:
    """Return what answers for Acme's assistant with a provider of `owner`."""
    cast.support.provider = make_provider(owner, base_url=url, **fields)
    cast.support.save()
    return model_of(choose_provider(with_prompt(Assistant.objects.filter(pk=cast.support.pk)).get()))


def error_of(model: Model) -> ModelError:
    async def ask() -> None:
        async for _ in model.stream(ModelRequest([Message("user", "Hi")])):
            pass

    with pytest.raises(ModelError) as failed:
        asyncio.run(ask())
    return failed.value


def test_every_wire_format_has_a_class() -> None:
    assert tuple(FORMATS) == WIRE_FORMATS


def test_the_wire_format_of_a_provider_chooses_the_class(cast: Cast, wire: Wire) -> None:
    model = model_for(cast, owner=cast.acme, url="https://llm.example.com/v1", wire_format=wire.name, sees_images=True)
    assert isinstance(model, CLASSES[wire.name]) and model.name == "test-model"
    assert isinstance(model_for(cast, owner=cast.acme, url="https://llm.example.com/v1"), OpenAIModel)


def test_the_deployments_provider_can_speak_another_format(cast: Cast, settings: Any, wire: Wire) -> None:
    settings.OPENAI_API_KEY, settings.OPENAI_WIRE_FORMAT = "sk-1", wire.name
    choice = choose_provider(with_prompt(Assistant.objects.filter(pk=cast.support.pk)).get())
    assert (choice.name, choice.model) == (FORMATS[wire.name].label, FORMATS[wire.name].default_model)
    assert isinstance(model_of(choice), CLASSES[wire.name])


def test_a_format_that_is_switched_off_for_tenants_is_not_asked(
    cast: Cast, settings: Any, wire: Wire, fake_provider: FakeProvider
) -> None:
    settings.DEBUG = True
    settings.ASSISTANT_TENANT_WIRE_FORMATS = ["chat-completions"]
    error = error_of(model_for(cast, owner=cast.acme, url=fake_provider.url, wire_format=wire.name))
    assert "cannot be used here" in str(error) and "ASSISTANT_TENANT_WIRE_FORMATS" in error.cause
    assert fake_provider.requests == []
    # The deployment's own are the operator's choice.
    assert isinstance(model_for(cast, owner=None, url=fake_provider.url, wire_format=wire.name), CLASSES[wire.name])


def test_a_package_that_is_missing_is_said_to_operators(
    cast: Cast, settings: Any, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, FORMATS[wire.name].package, None)
    error = error_of(model_for(cast, owner=None, url="https://llm.example.com", wire_format=wire.name))
    assert FORMATS[wire.name].extra in error.cause and FORMATS[wire.name].extra not in str(error)
    settings.OPENAI_WIRE_FORMAT = wire.name
    assert any("OPENAI_WIRE_FORMAT" in problem.msg for problem in run_checks())


def test_a_format_of_a_later_version_is_not_asked(cast: Cast) -> None:
    model = model_for(cast, owner=None, url="https://llm.example.com")
    Provider.objects.update(wire_format="telepathy")
    model = model_of(choose_provider(with_prompt(Assistant.objects.filter(pk=cast.support.pk)).get()))
    assert "does not know the wire format" in error_of(model).cause


def test_a_tenants_provider_cannot_have_an_internal_address(
    cast: Cast, wire: Wire, fake_provider: FakeProvider
) -> None:
    error_of(model_for(cast, owner=cast.acme, url=fake_provider.url, wire_format=wire.name))
    assert fake_provider.connections == 0


def test_a_tenants_address_gets_no_headers_of_the_environment(
    cast: Cast, settings: Any, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DEBUG = True
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-secret: of the operator")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of-the-operator")
    error_of(model_for(cast, owner=cast.acme, url=fake_provider.url, wire_format="anthropic"))
    assert "of the operator" not in str(fake_provider.requests[0].headers)
    assert "of-the-operator" not in str(fake_provider.requests[0].headers)
