"""The Responses API over a websocket, through the openai package's own client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import AsyncOpenAI
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from assistant.models import Provider, Run
from assistant.services.tenancy.api_keys import revoke_api_keys
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.openai_api.responses.test_responses import PICK
from tests.contrib.openai_api.test_completions import client_of
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db, until

pytestmark = pytest.mark.django_db(transaction=True)
ENDS = ("response.completed", "response.failed", "response.incomplete", "error")


async def turn(connection: Any, **given: Any) -> list[Any]:
    """The events of one response."""
    await connection.response.create(model="support", **given)
    events = []
    while not events or events[-1].type not in ENDS:
        events.append(await connection.recv())
    return events


async def test_turns_on_one_connection(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello Ann")
    fake_provider.call("pick_colour", {})
    fake_provider.reply("Blue it is.")
    async with client_of(server, cast) as client, client.responses.connect() as connection:
        first = await turn(connection, input="I am Ann")
        assert [one.sequence_number for one in first] == list(range(len(first)))
        assert first[0].type == "response.created" and first[-1].response.output_text == "Hello Ann"
        asked = await turn(connection, input="Which?", previous_response_id=first[-1].response.id, tools=[PICK])
        (call,) = asked[-1].response.output
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "blue"}
        last = await turn(connection, input=[result], previous_response_id=asked[-1].response.id, tools=[PICK])
        assert last[-1].response.output_text == "Blue it is."
        assert (await client.responses.retrieve(last[-1].response.id)).output_text == "Blue it is."
    roles = [one["role"] for one in fake_provider.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "tool"]


async def test_what_is_not_stored_continues_on_its_connection_alone(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with client_of(uvicorn_server, cast) as client:
        async with client.responses.connect() as connection:
            first = await turn(connection, input="I am Ann", store=False)
            response = first[-1].response.id
            second = await turn(connection, input="Who?", store=False, previous_response_id=response)
            assert second[-1].type == "response.completed"
        async with client.responses.connect() as connection:
            lost = await turn(connection, input="Who?", previous_response_id=response)
    assert (lost[-1].type, lost[-1].status) == ("error", 400)
    assert lost[-1].error.code == "previous_response_not_found"
    assert fake_provider.requests[1].messages[1]["content"] == "I am Ann"


async def test_errors_are_events_and_the_connection_stays(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key = await in_db(key_of)(cast.acme, cast.alice)
    address = f"{uvicorn_server.url.replace('http', 'ws')}/v1/responses"
    create = {"type": "response.create", "model": "support", "input": "Hi"}
    async with connect(address, additional_headers={"Authorization": f"Bearer {key}"}) as socket:
        for frame, code, status in (
            ("no JSON", "invalid_input", 400),
            (json.dumps({"type": "response.steer"}), "unknown_event", 400),
            (json.dumps({**create, "colour": "red"}), "unknown_parameter", 400),
            (json.dumps({**create, "background": True}), "unsupported_parameter", 400),
            (json.dumps({**create, "model": "gone"}), "model_not_found", 404),
        ):
            await socket.send(frame)
            answer = json.loads(await socket.recv())
            assert (answer["type"], answer["error"]["code"], answer["status"]) == ("error", code, status), answer
        fake_provider.respond(401)
        await socket.send(json.dumps(create))
        kinds = [json.loads(await socket.recv())["type"] for _ in range(2)]
        assert kinds == ["response.created", "response.failed"]


async def test_a_handshake_needs_a_key_that_may_chat(uvicorn_server: Server, cast: Cast) -> None:
    address = f"{uvicorn_server.url.replace('http', 'ws')}/v1/responses"
    reads = await in_db(key_of)(cast.acme, cast.alice, scopes=["read"])
    for key, status in (("ta_wrong", 401), (reads, 403)):
        with pytest.raises(InvalidStatus) as refused:
            async with connect(address, additional_headers={"Authorization": f"Bearer {key}"}):
                pass
        assert refused.value.response.status_code == status


async def test_a_response_of_another_tenant_is_not_there(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with client_of(uvicorn_server, cast) as client:
        theirs = await client.responses.create(model="support", input="A secret")
    key = await in_db(key_of)(cast.globex, cast.mallory)
    client = AsyncOpenAI(base_url=f"{uvicorn_server.url}/v1", api_key=key)
    async with client, client.responses.connect() as connection:
        for given in (
            {"input": "x", "previous_response_id": theirs.id},
            {"input": [{"type": "item_reference", "id": theirs.output[0].id}]},
        ):
            (refused,) = await turn(connection, **given)
            assert refused.error.code in ("previous_response_not_found", "item_not_found")
    assert await in_db(Run.objects.count)() == 1


async def test_leaving_stops_the_response(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply(chunks=["Hel", fake_provider.gate(), "lo"])
    async with client_of(server, cast) as client, client.responses.connect() as connection:
        await connection.response.create(model="support", input="Hi")
        while (await connection.recv()).type != "response.output_text.delta":
            pass
    await until(lambda: Run.objects.filter(status=Run.Status.CANCELLED).exists())


async def test_a_revoked_key_loses_its_connection(uvicorn_server: Server, cast: Cast, provider: Provider) -> None:
    key = await in_db(key_of)(cast.acme, cast.alice)
    client = AsyncOpenAI(base_url=f"{uvicorn_server.url}/v1", api_key=key)
    async with client, client.responses.connect() as connection:
        await in_db(lambda: revoke_api_keys(keys=cast.acme.api_keys.all(), actor=None))()
        with pytest.raises(ConnectionClosed) as closed:
            await connection.recv()
    assert closed.value.rcvd and closed.value.rcvd.code == 4401
