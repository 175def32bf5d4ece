"""Questions of the tool `ask_user`: asked as an interrupt with a form, answered once, and checked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from assistant.models import Provider, ToolCall, ToolSetting
from tests.agui import Frame, text_of
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import Socket, open_socket, run_input

pytestmark = [pytest.mark.django_db(transaction=True)]
QUESTION = {
    "question": "When, and for how many?",
    "fields": [
        {"name": "day", "label": "Day", "kind": "date"},
        {"name": "people", "label": "People", "kind": "number"},
        {"name": "seat", "label": "Seat", "kind": "choice", "options": ["Window", "Aisle"]},
        {"name": "extras", "label": "Extras", "kind": "several", "options": ["Bike", "Dog"], "required": False},
    ],
}
ANSWER = {"day": "2111-02-03", "people": 4, "seat": "Aisle"}


@pytest.fixture
def server(uvicorn_server: Server, cast: Cast, provider: Provider) -> Server:
    switch_tool(cast.acme, "ask_user")
    return uvicorn_server


async def asked(socket: Socket, fake_provider: FakeProvider) -> tuple[str, Frame]:
    """Return the thread and the interrupt of a question that the model asks."""
    fake_provider.call("ask_user", QUESTION)
    frames = await socket.ask("Book a table")
    (interrupt,) = frames[-1]["outcome"]["interrupts"]
    return frames[0]["threadId"], interrupt


async def answer(socket: Socket, thread: str, interrupt: Frame, payload: Any, status: str = "resolved") -> list[Frame]:
    resume = [{"interruptId": interrupt["id"], "status": status, "payload": payload}]
    await socket.send(given := run_input("", thread=thread, messages=[], resume=resume))
    return await socket.until_end(given["runId"])


async def test_a_question_has_its_schema_and_the_answer_is_the_result(
    server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        thread, interrupt = await asked(socket, fake_provider)
        assert (interrupt["reason"], interrupt["message"]) == ("input_required", "When, and for how many?")
        assert interrupt["responseSchema"]["properties"]["seat"]["enum"] == ["Window", "Aisle"]
        kinds = {
            field["name"]: (field["kind"], field.get("required", False)) for field in interrupt["metadata"]["form"]
        }
        assert kinds == {
            "day": ("date", True),
            "people": ("number", True),
            "seat": ("choice", True),
            "extras": ("several", False),
        }
        fake_provider.reply("Booked.")
        assert text_of(await answer(socket, thread, interrupt, ANSWER)) == "Booked."
        again = await answer(socket, thread, interrupt, {**ANSWER, "people": 5})
        assert again[-1]["code"] == "invalid_input"
    assert json.loads(fake_provider.requests[-1].json["messages"][-1]["content"]) == ANSWER
    call = await ToolCall.objects.aget()
    assert (call.status, call.decided_by_id) == (ToolCall.Status.OK, cast.alice.pk)


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({**ANSWER, "seat": "Roof"}, "seat"),
        ({"people": 4, "seat": "Aisle"}, "day"),
        ({**ANSWER, "day": "2111-13-03"}, "day"),
        ({**ANSWER, "more": 1}, "more"),
        ({"approved": True}, "This is a question"),
    ],
    ids=str,
)
async def test_an_answer_that_does_not_fit_is_refused_and_can_be_given_again(
    payload: Any, problem: str, server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        thread, interrupt = await asked(socket, fake_provider)
        refusal = (await answer(socket, thread, interrupt, payload))[-1]
        assert refusal["code"] == "invalid_input" and problem in refusal["message"]
        fake_provider.reply("Booked.")
        assert text_of(await answer(socket, thread, interrupt, ANSWER)) == "Booked."


async def test_a_question_can_be_left_unanswered(server: Server, cast: Cast, fake_provider: FakeProvider) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        thread, interrupt = await asked(socket, fake_provider)
        fake_provider.reply("As you wish.")
        assert text_of(await answer(socket, thread, interrupt, {"approved": False})) == "As you wish."
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.DECLINED


async def test_others_answer_no_question(server: Server, cast: Cast, fake_provider: FakeProvider) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        thread, interrupt = await asked(socket, fake_provider)
    for tenant, user in (("acme", cast.amy), ("globex", cast.mallory)):
        async with open_socket(server.url, tenant=tenant, user=user) as other:
            assert (await answer(other, thread, interrupt, ANSWER))[-1]["type"] == "RUN_ERROR"
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.AWAITING_APPROVAL


async def test_an_approval_is_not_answered_like_a_question(
    server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", "ask")
    async with open_socket(server.url, user=cast.alice) as socket:
        fake_provider.call("calculate", {"expression": "1+1"})
        frames = await socket.ask("Add")
        (interrupt,) = frames[-1]["outcome"]["interrupts"]
        assert interrupt["metadata"]["title"] == "Calculate"
        refusal = (await answer(socket, frames[0]["threadId"], interrupt, {"expression": "2+2"}))[-1]
    assert refusal["code"] == "invalid_input" and "approved" in refusal["message"]


def offered(fake_provider: FakeProvider) -> set[str]:
    return {tool["function"]["name"] for tool in fake_provider.requests[-1].json.get("tools", ())}


async def test_it_is_offered_only_where_somebody_can_answer(
    server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("Hi")
    assert "ask_user" in offered(fake_provider)


async def test_a_tenant_that_has_not_switched_it_on_is_not_asked(
    server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    await ToolSetting.objects.all().adelete()
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("Hi")
    assert "current_time" in offered(fake_provider) and "ask_user" not in offered(fake_provider)
