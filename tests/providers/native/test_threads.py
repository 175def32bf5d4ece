"""Conversations by every native wire format, through `ChatClient` and through tenants' runs, three turns each."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import pytest

from assistant.client import ChatClient, InMemoryStore, RunFailed
from assistant.client.agents import Agent
from assistant.core.toolcalls.protocols import FixedToolset
from assistant.core.values.messages import ToolCall
from assistant.models import Conversation, Provider, ToolSetting
from assistant.models import Message as MessageRow
from assistant.models import ToolCall as CallRow
from assistant.providers import ScriptedModel, model_class
from assistant.toolkit import tool
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import Answer, Script, event, reply
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.providers.native.wires import WIRES, PickyServer, Wire
from tests.websocket.test_websocket import in_db
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)

NOT_OBJECTS = ("[1, 2]", "7", "null", '"text"', '"{}"', '{"a": ')
CALL = [("current_time", {})]


@tool
def current_time() -> str:
    """Tell the time."""
    return "12:00"


@tool
def current_date() -> str:
    """Tell the date."""
    return "Monday"


class Thread(Protocol):
    """One conversation, whose provider can change."""

    async def ask(self, text: str) -> str:
        """Return the answer; "" if the run failed."""

    async def use(self, wire_format: str, model: str) -> None:
        """Answer with a model of this wire format from now on."""

    async def without_tools(self) -> None: ...


class ClientThread:
    """A conversation of a `ChatClient`."""

    def __init__(self, url: str) -> None:
        self._url, self._store = url, InMemoryStore()
        self._tools: list[Any] = [current_time, current_date]

    async def use(self, wire_format: str, model: str) -> None:
        self._model = model_class(wire_format)(model, base_url=self._url, api_key="", max_retries=0)

    def move(self, url: str) -> None:
        """Answer from another address, once a model is chosen there."""
        self._url = url

    async def without_tools(self) -> None:
        self._tools = []

    async def ask(self, text: str) -> str:
        client = ChatClient(model=self._model, tools=self._tools, system="Be kind.", store=self._store)
        try:
            return (await client.call(text, conversation="1")).text
        except RunFailed:
            return ""


class TenantThread:
    """A conversation of a member over the websocket."""

    def __init__(self, socket: Socket, provider: Provider) -> None:
        self.socket, self._provider = socket, provider
        self.id = str(uuid.uuid4())

    async def use(self, wire_format: str, model: str) -> None:
        await Provider.objects.filter(pk=self._provider.pk).aupdate(wire_format=wire_format, default_model=model)

    async def without_tools(self) -> None:
        await ToolSetting.objects.all().adelete()

    async def ask(self, text: str) -> str:
        frames = await self.socket.ask(text, thread=self.id)
        is_failed = frames[-1]["type"] == "RUN_ERROR"
        return "" if is_failed else "".join(f["delta"] for f in frames if f["type"] == "TEXT_MESSAGE_CONTENT")


@asynccontextmanager
async def tenant_thread(server: Server, cast: Cast, provider: Provider) -> AsyncIterator[TenantThread]:
    await in_db(switch_tool)(cast.acme, "current_time")
    async with open_socket(server.url, user=cast.alice) as socket:
        yield TenantThread(socket, provider)


@pytest.fixture
async def tenant(cast: Cast, provider: Provider, uvicorn_server: Server) -> AsyncIterator[TenantThread]:
    async with tenant_thread(uvicorn_server, cast, provider) as opened:
        yield opened


@pytest.fixture(params=["client", "tenant"])
async def thread(request: pytest.FixtureRequest, fake_provider: FakeProvider, cast: Cast) -> AsyncIterator[Thread]:
    """The same conversation twice: of a `ChatClient`, and of a tenant's member."""
    if request.param == "client":
        yield ClientThread(fake_provider.url)
        return
    provider: Provider = await in_db(request.getfixturevalue)("provider")
    server: Server = await in_db(request.getfixturevalue)("uvicorn_server")
    async with tenant_thread(server, cast, provider) as opened:
        yield opened


@pytest.fixture(params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


def picky(fake_provider: FakeProvider, wire: Wire, *answers: Answer | Script) -> PickyServer:
    server = PickyServer(wire, *answers)
    fake_provider.rule(server)
    return server


async def ask_thrice(thread: Thread, server: PickyServer) -> None:
    """Ask the first question and two more, whose requests contain what came before."""
    answers = [await thread.ask(text) for text in ("One", "Two", "Three")]
    assert (server.refused, [answer[-5:] for answer in answers]) == ([], ["Fine."] * 3)


async def test_three_turns_with_calls_are_valid_requests(
    thread: Thread, fake_provider: FakeProvider, wire: Wire
) -> None:
    calls = [wire.say(calls=CALL, number=0), wire.say("Fine."), wire.say(calls=CALL * 2, number=1), wire.say("Fine.")]
    server = picky(fake_provider, wire, *calls)
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)
    assert len(server.bodies) == 5


async def test_what_came_with_calls_goes_back_with_them(
    thread: Thread, fake_provider: FakeProvider, wire: Wire
) -> None:
    server = picky(fake_provider, wire, wire.say("I look.", calls=CALL * 2, number=1))
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)
    expected = {
        "anthropic": ["EqQBCgIYAhIM1", "toolu_10", "toolu_11"],
        "google": ["c2lnbmF0dXJl1", "fc-10", "fc-11"],
    }
    assert wire.given(server.bodies[-1]) == expected[wire.name]
    assert ("assistant", "I look.") in wire.texts(server.bodies[-1])


async def test_another_model_gets_nothing_back(thread: Thread, fake_provider: FakeProvider, wire: Wire) -> None:
    server = picky(fake_provider, wire, wire.say(calls=CALL, number=1))
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)
    server = picky(fake_provider, wire)
    await thread.use(wire.name, wire.model + "-2")
    assert (await thread.ask("Four"), server.refused) == ("Fine.", [])
    given = wire.given(server.bodies[0])
    assert given == ["skip_thought_signature_validator"] if wire.name == "google" else len(given) == 1


async def test_another_address_gets_nothing_back(fake_provider: FakeProvider, wire: Wire) -> None:
    server, thread = picky(fake_provider, wire, wire.say(calls=CALL, number=1)), ClientThread(fake_provider.url)
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)
    thread.move(fake_provider.url.removesuffix("/v1") + "/other")
    await thread.use(wire.name, wire.model)
    assert (await thread.ask("Four"), server.refused) == ("Fine.", [])
    back, elsewhere = wire.given(server.bodies[-2]), wire.given(server.bodies[-1])
    assert back == {"anthropic": ["EqQBCgIYAhIM1", "toolu_10"], "google": ["c2lnbmF0dXJl1", "fc-10"]}[wire.name]
    assert back[0] not in elsewhere


async def test_a_thread_that_another_wire_began_goes_on(
    thread: Thread, fake_provider: FakeProvider, wire: Wire
) -> None:
    fake_provider.queue(reply(calls=CALL), reply("Fine."))
    await thread.use("chat-completions", "kimi-k2")
    assert await thread.ask("Zero") == "Fine."
    other = next(one for one in WIRES.values() if one is not wire)
    server = picky(fake_provider, other, other.say(calls=CALL, number=1))
    await thread.use(other.name, other.model)
    assert (await thread.ask("Half"), server.refused) == ("Fine.", [])
    server = picky(fake_provider, wire, wire.say(calls=CALL))
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)
    fake_provider.rule(reply("Fine."))
    await thread.use("chat-completions", "kimi-k2")
    assert await thread.ask("Last") == "Fine."
    assert "toolu" not in str(fake_provider.requests[-1].json["messages"][-1])


async def test_a_thread_goes_on_after_an_answer_that_failed(
    thread: Thread, fake_provider: FakeProvider, wire: Wire
) -> None:
    failed = wire.failed(401, "no")
    server = picky(fake_provider, wire, wire.say(calls=CALL), failed)
    await thread.use(wire.name, wire.model)
    assert await thread.ask("Zero") == ""
    await ask_thrice(thread, server)
    server = picky(fake_provider, wire, failed)
    assert await thread.ask("Four") == ""
    await ask_thrice(thread, server)


@pytest.mark.parametrize("arguments", NOT_OBJECTS)
async def test_arguments_that_are_no_object_go_back_as_one(
    thread: Thread, fake_provider: FakeProvider, arguments: str
) -> None:
    wire = WIRES["anthropic"]  # Gemini's arguments are JSON values, not text
    server = picky(fake_provider, wire, wire.say(calls=[("current_time", arguments)]))
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)


async def test_a_thread_goes_on_without_the_tools_that_it_used(
    thread: Thread, fake_provider: FakeProvider, wire: Wire
) -> None:
    server = picky(fake_provider, wire, wire.say(calls=CALL))
    await thread.use(wire.name, wire.model)
    assert await thread.ask("Zero") == "Fine."
    await thread.without_tools()
    await ask_thrice(thread, server)


async def test_an_empty_answer_is_asked_once_more(thread: Thread, fake_provider: FakeProvider, wire: Wire) -> None:
    server = picky(fake_provider, wire, wire.say(calls=CALL), wire.say(""), wire.say("Fine."))
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)
    assert server.bodies[1] == server.bodies[2]


async def test_an_error_as_first_event_is_repeated(thread: Thread, fake_provider: FakeProvider, wire: Wire) -> None:
    overloaded = Answer([wire.broken(529 if wire.name == "anthropic" else 503, "Overloaded")])
    server = picky(fake_provider, wire, overloaded)
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)
    assert len(server.bodies) == 4


async def test_a_conversation_that_is_too_long_is_trimmed_and_asked_again(
    thread: Thread, fake_provider: FakeProvider, wire: Wire
) -> None:
    said = {
        "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
        "google": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    }
    server = picky(fake_provider, wire, *[wire.say("Fine.")] * 3, wire.failed(400, said[wire.name]))
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)
    assert await thread.ask("Four") == "Fine."
    assert len(wire.texts(server.bodies[4])) < len(wire.texts(server.bodies[3]))
    assert (await thread.ask("Five"), server.refused) == ("Fine.", [])


async def test_a_call_that_gemini_cannot_read_goes_back_to_the_model(
    thread: Thread, fake_provider: FakeProvider
) -> None:
    wire = WIRES["google"]
    malformed = "Malformed function call: print(default_api.current_time(zone='"
    end = {"index": 0, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": malformed}
    server = picky(fake_provider, wire, Answer([event({"candidates": [end]})]))
    await thread.use(wire.name, wire.model)
    await ask_thrice(thread, server)
    assert ("assistant", malformed) in wire.texts(server.bodies[1])
    assert ("assistant", malformed) not in wire.texts(server.bodies[2])


async def test_reasoning_is_shown_and_not_sent_back(
    tenant: TenantThread, fake_provider: FakeProvider, wire: Wire
) -> None:
    server = picky(fake_provider, wire, wire.say("Fine.", reasoning="Nothing to look up."))
    await tenant.use(wire.name, wire.model)
    frames = await tenant.socket.ask("One", thread=tenant.id)
    assert "Nothing to look up." in "".join(f["delta"] for f in frames if f["type"] == "REASONING_MESSAGE_CONTENT")
    assert [await tenant.ask("Two"), server.refused] == ["Fine.", []]
    assert "Nothing to look up." not in str(server.bodies[-1])


async def test_what_comes_with_calls_is_stored_and_not_shown(
    tenant: TenantThread, fake_provider: FakeProvider, wire: Wire
) -> None:
    picky(fake_provider, wire, wire.say(calls=CALL, number=1))
    await tenant.use(wire.name, wire.model)
    await tenant.ask("One")
    row = await MessageRow.objects.aget(role="assistant", tool_calls__0__name="current_time")
    call = await CallRow.objects.aget()
    signature = {"anthropic": "EqQBCgIYAhIM1", "google": "c2lnbmF0dXJl1"}[wire.name]
    assert row.tool_calls[0]["id"] == call.call_id
    assert signature in row.provider_state and signature not in str(tenant.socket.frames)


async def test_signatures_go_back_after_an_approval(
    tenant: TenantThread, cast: Cast, fake_provider: FakeProvider, wire: Wire
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time", "ask")
    server = picky(fake_provider, wire, wire.say(calls=CALL, number=1))
    await tenant.use(wire.name, wire.model)
    frames = await tenant.socket.ask("One", thread=tenant.id)
    interrupt = frames[-1]["outcome"]["interrupts"][0]
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    approved = run_input("", thread=tenant.id, messages=[], resume=resume)
    await tenant.socket.send(approved)
    await tenant.socket.until_end(approved["runId"])
    assert [await tenant.ask("Two"), await tenant.ask("Three"), server.refused] == ["Fine.", "Fine.", []]
    assert all(wire.given(body) == wire.given(server.bodies[-1]) != [] for body in server.bodies[1:])


async def test_a_sub_agent_gives_signatures_back(fake_provider: FakeProvider, wire: Wire) -> None:
    server = picky(fake_provider, wire, wire.say(calls=CALL, number=0), wire.say(calls=CALL, number=1))
    model = model_class(wire.name)(wire.model, base_url=fake_provider.url, api_key="", max_retries=0)
    agent = Agent(name="clock", description="Knows the time.", model=model, toolset=FixedToolset([current_time]))
    asks = ScriptedModel([ToolCall("", "clock", '{"task": "Tell the time"}'), "It is noon."])
    answer = await ChatClient(model=asks, tools=[agent.as_tool()]).call("What time is it?")
    assert (answer.tool_calls[0].result, server.refused) == ("Fine.", [])
    assert len(wire.given(server.bodies[-1])) >= 2


async def test_a_summary_stands_in_the_first_question(
    tenant: TenantThread, fake_provider: FakeProvider, wire: Wire
) -> None:
    server = picky(fake_provider, wire)
    await tenant.use(wire.name, wire.model)
    await tenant.ask("One")
    await Conversation.objects.aupdate(summary="Bob is customer 42.", summarised_to=2)
    assert [await tenant.ask("Two"), await tenant.ask("Three"), server.refused] == ["Fine.", "Fine.", []]
    first = wire.texts(server.bodies[-1])[0]
    assert first[0] == "user" and "Bob is customer 42." in first[1]


async def test_usage_counts_what_came_from_caches(fake_provider: FakeProvider, wire: Wire) -> None:
    picky(fake_provider, wire)
    model = model_class(wire.name)(wire.model, base_url=fake_provider.url, api_key="", max_retries=0)
    usage = (await ChatClient(model=model).call("Hi")).usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (11, 4, 7)
    assert usage.cache_write_tokens == (2 if wire.name == "anthropic" else 0)


async def test_a_fallback_of_another_wire_takes_over(fake_provider: FakeProvider, wire: Wire) -> None:
    other = next(one for one in WIRES.values() if one is not wire)
    models = [
        model_class(one.name)(one.model, base_url=fake_provider.url, api_key="", max_retries=0) for one in (wire, other)
    ]
    fake_provider.queue(wire.failed(503, "down"), other.say("From the other."))
    client = ChatClient(model=models[0], fallback=models[1])
    assert (await client.call("Hi")).text == "From the other."
