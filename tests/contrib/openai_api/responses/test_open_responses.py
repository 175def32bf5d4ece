"""The cases of the Open Responses compliance suite, checked against the specification's schema.

The suite is a TypeScript program of https://github.com/openresponses/openresponses and in no package. Its requests are
kept here; the schema comes from `openresponses-types`. Only the tool has another name: `get_weather` is one of this
deployment's own, which a caller's tool never replaces.
"""

from __future__ import annotations

import base64
import json
from itertools import groupby
from typing import Any

import httpx2
import openresponses_types.types as specification
import pytest
from pydantic import TypeAdapter
from websockets.asyncio.client import connect

from assistant.models import Provider
from tests.api.calling import key_of
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.files import samples
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)

EVENTS = {
    next(iter(one.model_fields["type"].annotation)).value: one
    for name, one in vars(specification).items()
    if name.endswith("StreamingEvent") and name != "ErrorStreamingEvent"
}
# Of OpenAI's own, for the tools of the server: the specification leaves room for such.
EXTENSIONS = ("response.mcp_call",)
WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "get_local_weather",
    "description": "Get the current weather for a location",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}},
        "required": ["location"],
    },
}


def said(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


HEART = [
    {"type": "input_text", "text": "What do you see in this image? Answer in one sentence."},
    {"type": "input_image", "image_url": f"data:image/png;base64,{base64.b64encode(samples.PNG).decode()}"},
]
CASES: dict[str, dict[str, Any]] = {
    "basic-response": {"input": [said("user", "Say hello in exactly 3 words.")]},
    "streaming-response": {"input": [said("user", "Count from 1 to 5.")], "stream": True},
    "system-prompt": {
        "input": [said("system", "You are a pirate. Always respond in pirate speak."), said("user", "Say hello.")]
    },
    "tool-calling": {"input": [said("user", "What's the weather like in San Francisco?")], "tools": [WEATHER]},
    "tool-calling-streaming": {
        "input": [said("user", "What's the weather like in San Francisco?")],
        "tools": [WEATHER],
        "stream": True,
    },
    "image-input": {"input": [said("user", HEART)]},
    "multi-turn": {
        "input": [
            said("user", "My name is Alice."),
            said("assistant", "Hello Alice! Nice to meet you. How can I help you today?"),
            said("user", "What is my name?"),
        ]
    },
}


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a stream, each of which names its type twice; the last is `[DONE]`."""
    *blocks, end = text.strip().split("\n\n")
    assert end == "data: [DONE]"
    events = []
    for block in blocks:
        name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


def check(event: dict[str, Any]) -> None:
    if not event["type"].startswith(EXTENSIONS):
        EVENTS[event["type"]].model_validate(event)


@pytest.mark.parametrize("name", CASES)
async def test_a_case_of_the_compliance_suite(
    name: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Provider.objects.aupdate(sees_images=True)
    if "tools" in CASES[name]:
        fake_provider.call("get_local_weather", {"location": "San Francisco, CA"})
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.acme, cast.alice)}"}
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers=headers, timeout=60) as http:
        answer = await http.post("/v1/responses", json={"model": "support", **CASES[name]})
    assert answer.status_code == 200, answer.text
    events = events_of(answer.text) if CASES[name].get("stream") else []
    for event in events:
        check(event)
    response = events[-1]["response"] if events else answer.json()
    specification.ResponseResource.model_validate(response)
    assert response["status"] == "completed" and response["output"]
    if "tools" in CASES[name]:
        assert [item["type"] for item in response["output"]] == ["function_call"]
    if name == "tool-calling-streaming":
        kinds = [event["type"] for event in events]
        assert kinds[2:] == [
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]


async def test_reasoning_and_the_servers_tools_fit_the_schema(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "on")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("42", reasoning="Six times seven.")
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.acme, cast.alice)}"}
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers=headers, timeout=60) as http:
        answer = await http.post("/v1/responses", json={"model": "support", "input": "6*7?", "stream": True})
    events = events_of(answer.text)
    for event in events:
        if event.get("item", event.get("response", {})).get("type") != "mcp_call" and "response" not in event:
            check(event)
    # Arguments come in as many pieces as were ready together.
    kinds = [kind for kind, _ in groupby(event["type"] for event in events)]
    assert kinds[2:7] == [
        "response.output_item.added",
        "response.mcp_call.in_progress",
        "response.mcp_call_arguments.delta",
        "response.mcp_call_arguments.done",
        "response.mcp_call.completed",
    ]


async def test_the_websocket_speaks_the_specifications_frames(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key = await in_db(key_of)(cast.acme, cast.alice)
    address = f"{uvicorn_server.url.replace('http', 'ws')}/v1/responses"
    create = {"type": "response.create", "model": "support", "input": [said("user", "Hi")]}
    specification.WebSocketResponseCreateEvent.model_validate(create)
    async with connect(address, additional_headers={"Authorization": f"Bearer {key}"}) as socket:
        await socket.send(json.dumps(create))
        event: dict[str, Any] = {"type": ""}
        while event["type"] != "response.completed":
            event = json.loads(await socket.recv())
            check(event)
        await socket.send(json.dumps({**create, "previous_response_id": "resp_1"}))
        refused = json.loads(await socket.recv())
    TypeAdapter(specification.WebSocketErrorEvent).validate_python(refused)
    assert refused["error"]["code"] == "previous_response_not_found"
