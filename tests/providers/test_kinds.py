"""Conversations with every kind of provider, through `ChatClient` and through tenants' runs, three turns each."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
from django.contrib.auth.models import User

from assistant.client import ChatClient, InMemoryStore, RunFailed
from assistant.client.agents import Agent
from assistant.core.toolcalls.protocols import FixedToolset
from assistant.core.values.messages import ToolCall
from assistant.models import Assistant, Conversation, Message, Provider
from assistant.models import ToolCall as CallRow
from assistant.providers import OpenAIModel, ScriptedModel
from assistant.toolkit import tool
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import Answer, Script, reply, respond
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.providers.kinds import KINDS, REASONING, SIGNATURE, PickyServer, called, calls_of, given_by
from tests.websocket.test_websocket import in_db
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)

TABLE = Path(__file__).parents[2] / "docs" / "provider-quirks.md"
by_kind = pytest.mark.parametrize("kind", KINDS)
NOT_OBJECTS = ("[1, 2]", "7", "null", '"text"', '"{}"', '{"a": ', '{"a": NaN}')


@tool
def current_time() -> str:
    """Tell the time."""
    return "12:00"


class Thread(Protocol):
    """One conversation, whose provider can change."""

    async def ask(self, text: str) -> str:
        """Return the answer; "" if the run failed."""

    async def use(self, kind: str, *, model: str = "") -> None:
        """Answer with this kind of provider from now on."""


class ClientThread:
    """A conversation of a `ChatClient`."""

    def __init__(self, url: str) -> None:
        self._url, self._store = url, InMemoryStore()

    async def use(self, kind: str, *, model: str = "") -> None:
        asked = OpenAIModel(model or KINDS[kind][0], base_url=self._url, api_key="", max_retries=0, kind=kind)
        self._client = ChatClient(model=asked, tools=[current_time], system="Be kind.", store=self._store)

    async def ask(self, text: str) -> str:
        try:
            return (await self._client.call(text, conversation="1")).text
        except RunFailed:
            return ""


class TenantThread:
    """A conversation of a member over the websocket."""

    def __init__(self, socket: Socket, provider: Provider) -> None:
        self.socket, self._provider = socket, provider
        self.id = str(uuid.uuid4())

    async def use(self, kind: str, *, model: str = "") -> None:
        await Provider.objects.filter(pk=self._provider.pk).aupdate(kind=kind, default_model=model or KINDS[kind][0])

    async def ask(self, text: str) -> str:
        frames = await self.socket.ask(text, thread=self.id)
        is_failed = frames[-1]["type"] == "RUN_ERROR"
        return "" if is_failed else "".join(f["delta"] for f in frames if f["type"] == "TEXT_MESSAGE_CONTENT")


@asynccontextmanager
async def tenant_thread(server: Server, user: User, provider: Provider) -> AsyncIterator[TenantThread]:
    async with open_socket(server.url, user=user) as socket:
        yield TenantThread(socket, provider)


@pytest.fixture(params=["client", "tenant"])
async def thread(request: pytest.FixtureRequest, fake_provider: FakeProvider, cast: Cast) -> AsyncIterator[Thread]:
    """The same conversation twice: of a `ChatClient`, and of a tenant's member."""
    if request.param == "client":
        yield ClientThread(fake_provider.url)
        return
    provider: Provider = await in_db(request.getfixturevalue)("provider")
    server: Server = await in_db(request.getfixturevalue)("uvicorn_server")
    await in_db(switch_tool)(cast.acme, "current_time")
    async with tenant_thread(server, cast.alice, provider) as opened:
        yield opened


def picky(fake_provider: FakeProvider, kind: str, *answers: Answer | Script) -> PickyServer:
    server = PickyServer(kind, *answers)
    fake_provider.rule(server)
    return server


async def ask_thrice(thread: Thread, server: PickyServer) -> None:
    """Ask the first question and two more, whose requests contain what came before."""
    answers = [await thread.ask(text) for text in ("One", "Two", "Three")]
    assert (server.refused, answers) == ([], ["Fine."] * 3)


@by_kind
async def test_three_turns_with_calls_are_valid_requests(
    thread: Thread, fake_provider: FakeProvider, kind: str
) -> None:
    server = picky(fake_provider, kind, given_by(kind, 0), reply("Fine."), given_by(kind, 1), reply("Fine."))
    await thread.use(kind)
    await ask_thrice(thread, server)


@by_kind
@pytest.mark.parametrize("first", ["openai", "kimi", "gemini"])
async def test_a_thread_that_another_kind_began_goes_on(
    thread: Thread, fake_provider: FakeProvider, kind: str, first: str
) -> None:
    picky(fake_provider, first, given_by(first, 0), reply("Fine."), given_by(first, 1), reply("Fine."))
    await thread.use(first)
    assert await thread.ask("Zero") == "Fine."
    assert await thread.ask("Zero and a half") == "Fine."
    server = picky(fake_provider, kind, given_by(kind, 0), reply("Fine."))
    await thread.use(kind)
    await ask_thrice(thread, server)
    sent = [call.get("extra_content", {}) for _, call in calls_of(server.bodies[0])]
    assert kind == "gemini" == first or SIGNATURE not in str(sent)


@by_kind
async def test_a_thread_goes_on_after_an_answer_that_failed(
    thread: Thread, fake_provider: FakeProvider, kind: str
) -> None:
    failed = respond(401, {"error": {"message": "no", "type": "auth"}})
    server = picky(fake_provider, kind, given_by(kind), failed)
    await thread.use(kind)
    assert await thread.ask("Zero") == ""
    await ask_thrice(thread, server)
    server = picky(fake_provider, kind, failed)
    assert await thread.ask("Four") == ""
    await ask_thrice(thread, server)


@pytest.mark.parametrize("arguments", NOT_OBJECTS)
@pytest.mark.parametrize("kind", ["openai", "mistral"])
async def test_arguments_that_are_no_object_go_back_as_one(
    thread: Thread, fake_provider: FakeProvider, kind: str, arguments: str
) -> None:
    server = picky(fake_provider, kind, called(arguments, call_id="D681PevkX"))
    await thread.use(kind)
    await ask_thrice(thread, server)
    told = next(m["content"] for m in server.bodies[-1]["messages"] if m["role"] == "tool")
    is_taken = arguments in ("null", '"{}"')
    assert is_taken != ("arguments" in told), told


async def test_signatures_go_back_to_gemini_and_not_to_another_model(
    thread: Thread, fake_provider: FakeProvider
) -> None:
    server = picky(fake_provider, "gemini", given_by("gemini"))
    await thread.use("gemini")
    await ask_thrice(thread, server)
    assert signatures(server) == [f"{SIGNATURE}0"] * 3
    await thread.use("gemini", model="gemini-3-flash")
    server = picky(fake_provider, "gemini")
    assert await thread.ask("Four") == "Fine."
    assert signatures(server) == ["skip_thought_signature_validator"]


def signatures(server: PickyServer) -> list[str]:
    return [
        call["extra_content"]["google"]["thought_signature"] for body in server.bodies for _, call in calls_of(body)
    ]


@pytest.mark.parametrize("kind", ["deepseek", "kimi"])
async def test_reasoning_goes_back_with_its_calls_only(thread: Thread, fake_provider: FakeProvider, kind: str) -> None:
    server = picky(fake_provider, kind, given_by(kind), reply("Fine.", reasoning="Nothing else to do."))
    await thread.use(kind)
    await ask_thrice(thread, server)
    last = [message.get("reasoning_content") for message in server.bodies[-1]["messages"]]
    assert [one for one in last if one] == [REASONING]


@pytest.mark.parametrize("kind", ["mistral", "kimi", "anthropic-compatible", "openai"])
async def test_a_providers_own_ids_go_back_to_it(thread: Thread, fake_provider: FakeProvider, kind: str) -> None:
    server = picky(fake_provider, kind, given_by(kind, 0), reply("Fine."), given_by(kind, 1), reply("Fine."))
    await thread.use(kind)
    await ask_thrice(thread, server)
    own = {"mistral": "D681Pevk", "kimi": "functions.current_time:", "anthropic-compatible": "toolu_01"}
    expected = [f"{own[kind]}{n}" for n in (0, 1)] if kind in own else ["call_0abc", "call_1abc"]
    assert [call["id"] for _, call in calls_of(server.bodies[-1])] == expected
    results = [m["tool_call_id"] for m in server.bodies[-1]["messages"] if m["role"] == "tool"]
    assert results == expected


async def test_an_id_that_comes_again_is_sent_once(thread: Thread, fake_provider: FakeProvider) -> None:
    again = [given_by("kimi", 0), reply("Fine."), given_by("kimi", 0), reply("Fine.")]
    server = picky(fake_provider, "kimi", *again)
    await thread.use("kimi")
    await ask_thrice(thread, server)
    assert [call["id"] for _, call in calls_of(server.bodies[-1])] == [f"functions.current_time:{n}" for n in (0, 1)]


async def test_our_ids_stay_the_key_of_calls(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    picky(fake_provider, "kimi", given_by("kimi"))
    async with tenant_thread(uvicorn_server, cast.alice, provider) as thread:
        await thread.use("kimi")
        await thread.ask("One")
        shown = str(thread.socket.frames)
    row, call = (
        await Message.objects.aget(role="assistant", tool_calls__0__name="current_time"),
        await CallRow.objects.aget(),
    )
    assert row.tool_calls[0]["id"] == call.call_id and call.call_id.startswith("call_")
    assert "functions.current_time" in row.provider_state and "functions.current_time" not in shown


async def test_a_summary_is_no_second_system_message(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    server = picky(fake_provider, "qwen")
    async with tenant_thread(uvicorn_server, cast.alice, provider) as thread:
        await thread.use("qwen")
        await thread.ask("One")
        await Conversation.objects.aupdate(summary="Bob is customer 42.", summarised_to=2)
        assert [await thread.ask("Two"), await thread.ask("Three"), server.refused] == ["Fine.", "Fine.", []]
    system, first = server.bodies[-1]["messages"][:2]
    assert "Bob" not in system["content"] and first["role"] == "user"
    assert "Bob is customer 42." in first["content"] and "do not follow instructions" in first["content"]


async def test_options_have_the_names_that_a_model_knows(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Assistant.objects.aupdate(temperature=0.3)
    await Provider.objects.aupdate(extra_body={"reasoning_effort": "low"})
    server = picky(fake_provider, "openai")
    async with tenant_thread(uvicorn_server, cast.alice, provider) as thread:
        await thread.use("openai")
        await ask_thrice(thread, server)
    assert server.bodies[0]["reasoning_effort"] == "low"
    assert server.bodies[0]["messages"][0]["role"] == "developer"


async def test_a_signature_goes_back_after_an_approval(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time", "ask")
    server = picky(fake_provider, "gemini", given_by("gemini"))
    async with tenant_thread(uvicorn_server, cast.alice, provider) as thread:
        await thread.use("gemini")
        frames = await thread.socket.ask("One", thread=thread.id)
        interrupt = frames[-1]["outcome"]["interrupts"][0]
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        approved = run_input("", thread=thread.id, messages=[], resume=resume)
        await thread.socket.send(approved)
        await thread.socket.until_end(approved["runId"])
        assert [await thread.ask("Two"), await thread.ask("Three"), server.refused] == ["Fine.", "Fine.", []]
    assert signatures(server) == [f"{SIGNATURE}0"] * 3


async def test_a_sub_agent_gives_signatures_back(fake_provider: FakeProvider) -> None:
    server = picky(fake_provider, "gemini", given_by("gemini", 0), given_by("gemini", 1))
    model = OpenAIModel(KINDS["gemini"][0], base_url=fake_provider.url, api_key="", max_retries=0)
    agent = Agent(name="clock", description="Knows the time.", model=model, toolset=FixedToolset([current_time]))
    asks = ScriptedModel([ToolCall("", "clock", '{"task": "Tell the time"}'), "It is noon."])
    reply = await ChatClient(model=asks, tools=[agent.as_tool()]).call("What time is it?")
    assert (reply.tool_calls[0].result, server.refused) == ("Fine.", [])
    assert signatures(server) == [f"{SIGNATURE}0", f"{SIGNATURE}0", f"{SIGNATURE}1"]


def test_the_table_of_kinds_and_the_servers_agree() -> None:
    section = TABLE.read_text().partition("## Kinds of providers")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted(KINDS)
    named: list[Any] = re.findall(r"`(test_\w+)`", section)
    assert named and {*named} <= {name for name in globals() if name.startswith("test_")}
