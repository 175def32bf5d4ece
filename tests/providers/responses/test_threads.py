"""Conversations with a Responses server, through `ChatClient` and tenants' runs, each with the next two turns."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import pytest

from assistant.client import ChatClient, InMemoryStore, RunFailed
from assistant.core.values.wire_formats import CHAT_COMPLETIONS, RESPONSES
from assistant.models import Message, Provider
from assistant.models import ToolCall as CallRow
from assistant.providers import OpenAIModel, ResponsesModel
from assistant.toolkit import tool
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import Answer, Recorded, respond
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.providers.kinds import PickyServer, given_by
from tests.providers.responses.wire import Body, ResponsesServer, calls, says, thinks
from tests.websocket.test_websocket import in_db
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)

MODEL = "o4-mini"


@tool
def current_time() -> str:
    """Tell the time."""
    return "12:00"


class Thread(Protocol):
    """One conversation, whose provider can change."""

    async def ask(self, text: str) -> str:
        """Return the answer; "" if the run failed."""

    async def use(self, url: str, *, model: str = MODEL, wire_format: str = RESPONSES) -> None:
        """Ask this server from now on."""


class ClientThread:
    def __init__(self) -> None:
        self._store = InMemoryStore()

    async def use(self, url: str, *, model: str = MODEL, wire_format: str = RESPONSES) -> None:
        kind = ResponsesModel if wire_format == RESPONSES else OpenAIModel
        asked = kind(model, base_url=url, api_key="", max_retries=0)
        self._client = ChatClient(model=asked, tools=[current_time], system="Be kind.", store=self._store)

    async def ask(self, text: str) -> str:
        try:
            return (await self._client.call(text, conversation="1")).text
        except RunFailed:
            return ""


class TenantThread:
    def __init__(self, socket: Socket, provider: Provider) -> None:
        self.socket, self._provider = socket, provider
        self.id = str(uuid.uuid4())

    async def use(self, url: str, *, model: str = MODEL, wire_format: str = RESPONSES) -> None:
        row = Provider.objects.filter(pk=self._provider.pk)
        await row.aupdate(base_url=url, default_model=model, wire_format=wire_format)

    async def ask(self, text: str) -> str:
        frames = await self.socket.ask(text, thread=self.id)
        is_failed = frames[-1]["type"] == "RUN_ERROR"
        return "" if is_failed else "".join(f["delta"] for f in frames if f["type"] == "TEXT_MESSAGE_CONTENT")


@asynccontextmanager
async def tenant_thread(server: Server, cast: Cast, provider: Provider) -> AsyncIterator[TenantThread]:
    await in_db(switch_tool)(cast.acme, "current_time")
    async with open_socket(server.url, user=cast.alice) as socket:
        yield TenantThread(socket, provider)


@pytest.fixture(params=["client", "tenant"])
async def thread(request: pytest.FixtureRequest, fake_provider: FakeProvider, cast: Cast) -> AsyncIterator[Thread]:
    """The same conversation twice: of a `ChatClient`, and of a tenant's member."""
    if request.param == "client":
        opened: Thread = ClientThread()
        await opened.use(fake_provider.url)
        yield opened
        return
    provider: Provider = await in_db(request.getfixturevalue)("provider")
    server: Server = await in_db(request.getfixturevalue)("uvicorn_server")
    async with tenant_thread(server, cast, provider) as opened:
        await opened.use(fake_provider.url)
        yield opened


def serving(fake_provider: FakeProvider, *answers: Answer | Sequence[Body]) -> ResponsesServer:
    server = ResponsesServer(*answers)
    fake_provider.rule(server)
    return server


async def ask_thrice(thread: Thread, server: ResponsesServer | PickyServer) -> None:
    answers = [await thread.ask(text) for text in ("One", "Two", "Three")]
    assert (server.refused, answers) == ([], ["Fine."] * 3)


def kinds(body: Body) -> list[str]:
    return [item.get("type") or item["role"] for item in body["input"]]


TIME = "current_time"
ANSWERS: dict[str, Sequence[Sequence[Body]]] = {
    "a call": [[calls(TIME)]],
    "reasoning and a call": [[thinks(), calls(TIME)]],
    "two rounds with reasoning": [[thinks(), calls(TIME)], [thinks(), calls(TIME)]],
    "two calls after reasoning": [[thinks(), calls(TIME), calls(TIME)]],
    "a comment and a call": [[thinks(), says("I look it up.", phase="commentary"), calls(TIME)]],
    "reasoning twice": [[thinks(), says("One moment."), thinks(), calls(TIME)]],
    "the same call id again": [[calls(TIME, call_id="call_0")], [calls(TIME, call_id="call_0")]],
    "reasoning that is not encrypted": [[thinks("Hm.", encrypted=None), calls(TIME)]],
    "reasoning and an answer": [[thinks(), says("Fine.", phase="final_answer")]],
    "arguments that are no object": [[thinks(), calls(TIME, "[1]")]],
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_three_turns_are_valid_requests(thread: Thread, fake_provider: FakeProvider, name: str) -> None:
    server = serving(fake_provider, *ANSWERS[name])
    answers = [await thread.ask(text) for text in ("One", "Two", "Three")]
    assert server.refused == [] and all(text.endswith("Fine.") for text in answers)


async def test_reasoning_goes_back_directly_before_its_call(thread: Thread, fake_provider: FakeProvider) -> None:
    reasoning, call = thinks("Hm."), calls(TIME, call_id="call_7")
    server = serving(fake_provider, [reasoning, call])
    await ask_thrice(thread, server)
    sent = server.bodies[-1]["input"]
    assert kinds(server.bodies[-1]) == [
        "user", "reasoning", "function_call", "function_call_output", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert sent[1] == reasoning and (sent[2]["id"], sent[2]["call_id"]) == (call["id"], "call_7")


@pytest.mark.parametrize("change", ["model", "address"])
async def test_what_another_model_gave_does_not_go_to_this_one(
    thread: Thread, fake_provider: FakeProvider, change: str
) -> None:
    serving(fake_provider, [thinks(), calls(TIME, call_id="call_7")])
    assert await thread.ask("Zero") == "Fine."
    with FakeProvider() as elsewhere:
        asked = elsewhere if change == "address" else fake_provider
        server = serving(asked, [thinks(), calls(TIME)])
        await thread.use(asked.url, model="o5" if change == "model" else MODEL)
        await ask_thrice(thread, server)
    assert "reasoning" not in kinds(server.bodies[0]) and "rs_" not in str(server.bodies[0])


async def test_a_thread_goes_on_with_the_other_wire_format(thread: Thread, fake_provider: FakeProvider) -> None:
    picky = PickyServer("openai", given_by("openai"))
    fake_provider.rule(picky)
    await thread.use(fake_provider.url, wire_format=CHAT_COMPLETIONS)
    assert await thread.ask("Zero") == "Fine."
    server = serving(fake_provider, [thinks(), calls(TIME)])
    await thread.use(fake_provider.url)
    await ask_thrice(thread, server)
    picky = PickyServer("openai")
    fake_provider.rule(picky)
    await thread.use(fake_provider.url, wire_format=CHAT_COMPLETIONS)
    await ask_thrice(thread, picky)
    assert "gAAAA" not in str(picky.bodies)


async def test_a_thread_goes_on_after_an_answer_that_failed(thread: Thread, fake_provider: FakeProvider) -> None:
    failed = respond(401, {"error": {"message": "no", "type": "auth"}})
    server = serving(fake_provider, [thinks(), calls(TIME)], failed)
    assert await thread.ask("Zero") == ""
    await ask_thrice(thread, server)


async def test_our_ids_stay_the_key_of_calls(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    serving(fake_provider, [thinks("Hm."), calls(TIME, call_id="call_of_theirs")])
    async with tenant_thread(uvicorn_server, cast, provider) as thread:
        await thread.use(fake_provider.url)
        await thread.ask("One")
        shown = str(thread.socket.frames)
    row = await Message.objects.aget(role="assistant", tool_calls__0__name=TIME)
    call = await CallRow.objects.aget()
    assert row.tool_calls[0]["id"] == call.call_id != "call_of_theirs"
    assert "call_of_theirs" in row.provider_state and "gAAAA" in row.provider_state
    assert "call_of_theirs" not in shown and "gAAAA" not in shown


async def test_reasoning_goes_back_after_an_approval(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    server = serving(fake_provider, [thinks(), calls(TIME)])
    async with tenant_thread(uvicorn_server, cast, provider) as thread:
        await in_db(switch_tool)(cast.acme, TIME, "ask")
        await thread.use(fake_provider.url)
        frames = await thread.socket.ask("One", thread=thread.id)
        interrupt = frames[-1]["outcome"]["interrupts"][0]
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        approved = run_input("", thread=thread.id, messages=[], resume=resume)
        await thread.socket.send(approved)
        await thread.socket.until_end(approved["runId"])
        assert [await thread.ask("Two"), await thread.ask("Three"), server.refused] == ["Fine.", "Fine.", []]
    assert all("reasoning" in kinds(body) for body in server.bodies[1:])


async def test_a_thread_goes_on_without_reasoning_that_its_provider_cannot_read_any_more(
    thread: Thread, fake_provider: FakeProvider
) -> None:
    serving(fake_provider, [thinks(), calls(TIME)])
    assert await thread.ask("Zero") == "Fine."
    said = "The encrypted content for item rs_1 could not be verified."
    refused = {"error": {"message": said, "type": "invalid_request_error", "code": "invalid_encrypted_content"}}
    server = ResponsesServer()

    def after_the_key_was_changed(request: Recorded) -> Answer:
        return respond(400, refused) if "gAAAA" in str(request.json) else server(request)

    fake_provider.rule(after_the_key_was_changed)
    await ask_thrice(thread, server)
    assert all("reasoning.encrypted_content" in body["include"] for body in server.bodies)
