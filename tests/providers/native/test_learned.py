"""What a model's server has refused before is left out later: for whom, for how long, and what is not learned."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from assistant.client import ChatClient
from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message
from assistant.providers.native import model as native_model
from assistant.providers.openai_wire.refusals import is_about_schema
from assistant.toolkit import tool
from tests.fake_provider import FakeProvider
from tests.providers.native import anthropic_wire
from tests.providers.native.wires import WIRES, Wire, model_at

WITHOUT = {
    "anthropic": "output_config: Extra inputs are not permitted",
    "google": "Function calling with a response mime type: 'application/json' is unsupported",
}
ODD_SCHEMA = {
    "anthropic": "output_config.format.schema: For 'integer' type, properties maximum, minimum are not supported",
    "google": "Invalid value at 'generation_config.response_json_schema': reference to undefined schema",
}


class City(BaseModel):
    """A city."""

    name: str


@pytest.fixture(params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


async def refuse(fake_provider: FakeProvider, wire: Wire, reason: str, **options: Any) -> None:
    """Ask for a typed answer, which the server refuses once and then gives by a tool."""
    fake_provider.queue(wire.failed(400, reason), wire.say(calls=[("give_answer", {"name": "Rome"})]))
    model = model_at(fake_provider, wire, **options)
    assert (await ChatClient(model=model).call("A city", output_type=City)).output == City(name="Rome")


def mode(fake_provider: FakeProvider, wire: Wire, key: str) -> str:
    return model_at(fake_provider, wire, api_key=key).output_mode


async def test_what_one_key_is_refused_says_nothing_about_another(fake_provider: FakeProvider, wire: Wire) -> None:
    await refuse(fake_provider, wire, WITHOUT[wire.name], api_key="key-of-acme")
    assert [mode(fake_provider, wire, key) for key in ("key-of-acme", "key-of-globex", "")] == [
        "tool",
        "native",
        "native",
    ]
    assert "key-of-acme" not in str(list(native_model._learned))


async def test_what_was_learned_is_forgotten(
    fake_provider: FakeProvider, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    known = type(native_model._learned)(2, ttl=native_model._learned.ttl, timer=lambda: clock[0])
    monkeypatch.setattr(native_model, "_learned", known)
    for key in ("one", "two", "three"):
        await refuse(fake_provider, wire, WITHOUT[wire.name], api_key=key)
    assert [mode(fake_provider, wire, key) for key in ("one", "two", "three")] == ["native", "tool", "tool"]
    clock[0] = 3_601.0
    assert mode(fake_provider, wire, "three") == "native"


async def test_one_odd_schema_does_not_turn_structured_output_off(fake_provider: FakeProvider, wire: Wire) -> None:
    await refuse(fake_provider, wire, ODD_SCHEMA[wire.name], api_key="k")
    assert mode(fake_provider, wire, "k") == "native"


@pytest.mark.parametrize(
    ("reason", "is_kept"),
    [
        ("tools.0.custom.strict: Extra inputs are not permitted", False),
        ("tools.0: strict tools do not support the property 'pattern'", True),
    ],
)
async def test_one_odd_schema_does_not_turn_strict_arguments_off(
    fake_provider: FakeProvider, reason: str, *, is_kept: bool
) -> None:
    @tool
    def note(text: str) -> str:
        """Note something."""
        return text

    fake_provider.queue(anthropic_wire.failed(400, reason), *[anthropic_wire.say("Hi")] * 2)
    for _ in range(2):
        request = ModelRequest([Message("user", "Hi")], tools=[note])
        async for _item in model_at(fake_provider, WIRES["anthropic"], strict=True).stream(request):
            pass
    assert ["strict" in request.json["tools"][0] for request in fake_provider.requests] == [True, False, is_kept]


@pytest.mark.parametrize(
    ("reason", "is_about"),
    [
        (WITHOUT["anthropic"], False),
        (WITHOUT["google"], False),
        ("Invalid JSON payload received. Unknown name \"responseJsonSchema\" at 'generation_config'", False),
        ("'response_format' of type 'json_schema' is not supported with this model.", False),
        (ODD_SCHEMA["anthropic"], True),
        (ODD_SCHEMA["google"], True),
        ("Invalid schema for response_format 'City': In context=(), 'additionalProperties' is required", True),
        ("The compiled grammar is too large", True),
    ],
)
def test_refusals_of_one_schema_are_told_apart(reason: str, *, is_about: bool) -> None:
    assert is_about_schema(reason) is is_about
