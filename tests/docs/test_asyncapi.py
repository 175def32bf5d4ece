"""The AsyncAPI document is valid, and every frame of a real run is as it says.

`asyncapi-3.0.0.json` is the published schema of the specification (npm: @asyncapi/specs 6.11.1, Apache-2.0), without
its descriptions and examples.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from assistant.models import Provider
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.isolation.test_websocket import frames_against
from tests.live import Server
from tests.ws import open_socket, run_input

SCHEMA = json.loads((Path(__file__).parent / "asyncapi-3.0.0.json").read_text())


def document() -> dict[str, Any]:
    found: dict[str, Any] = Client().get("/docs/asyncapi.json").json()
    return found


def problems(name: str, frame: dict[str, Any]) -> list[str]:
    """What is wrong with a frame that should be the message of that name."""
    found = document()
    payload = found["components"]["messages"][name]["payload"]
    checker = jsonschema.Draft202012Validator({**payload, "components": found["components"]})
    return [f"{name}: {error.message}" for error in checker.iter_errors(frame)]


def test_the_document_is_valid() -> None:
    jsonschema.validators.validator_for(SCHEMA)(SCHEMA).validate(document())


def test_every_kind_of_frame_is_a_message() -> None:
    operations = document()["operations"]
    received = {one["$ref"].rsplit("/", 1)[1] for one in operations["say"]["messages"]}
    assert received == set(frames_against(run_input("x")))


@pytest.mark.parametrize(
    "name",
    [
        "RunAgentInput",
        "attach",
        "cancel",
        "feedback",
        "show",
        "alarms",
        "alarm",
        "inbox",
        "inbox.seen",
        "conversations",
        "tool_requests",
        "tool_requests.seen",
        "ping",
    ],
)
def test_what_clients_send_fits(name: str) -> None:
    frames = frames_against(run_input("x"))[name]
    assert frames and [problem for frame in frames for problem in problems(name, frame)] == []


@pytest.mark.django_db(transaction=True)
async def test_every_frame_of_real_runs_fits(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "current_time")
    fake_provider.call("current_time", {})
    fake_provider.reply("It is **nine**.\n\nMore.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        first = run_input("What time is it?", forwardedProps={"render": "html"})
        await socket.send(first)
        await socket.until_end(first["runId"])
        await socket.send({"type": "ping"})
        await socket.until_custom("pong")
        await socket.send("nonsense")
        await socket.until_custom("protocol_error")
        await socket.attach(first["threadId"], render="html")
        await socket.until_end()
        await socket.send({"type": "attach", "threadId": "nothing"})
        await socket.until_type("RUN_ERROR")
    assert {"TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT", "RUN_ERROR"} <= {frame["type"] for frame in socket.frames}
    assert [problem for frame in socket.frames for problem in problems(frame["type"], frame)] == []


def test_an_undocumented_field_is_found() -> None:
    frame = {"type": "RUN_ERROR", "message": "x", "metadata": {"run": {"id": "r", "thread": "t", "seq": 1}}}
    assert problems("RUN_ERROR", frame) == []
    assert problems("RUN_ERROR", {**frame, "traceback": "x"})
    assert problems("RUN_ERROR", {**frame, "code": None})
