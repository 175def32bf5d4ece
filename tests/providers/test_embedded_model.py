"""The embedded model as a `Model`: its requests, and waiting for the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.providers.embedded import MODEL_NAME, EmbeddedModel, is_ready
from assistant.providers.embedded.model import RESULT_CHARACTERS, prepared
from assistant.providers.embedded.prefill import read_ahead
from assistant.providers.embedded.small_models import example_turns, worked_turns
from assistant.toolkit import Example, ExampleStep, Tool
from tests.fake_answers import Answer, Recorded, reply, respond
from tests.fake_provider import FakeProvider

EMPTY = {"type": "object", "properties": {}}
CLOCK = Tool(
    name="clock", description="Time.", parameters=EMPTY, handler=dict, examples=[Example("time?", {}, "Ten.", "10:00")]
)
ALARM = Tool(
    name="alarm",
    description="Alarm.",
    parameters={"type": "object", "properties": {"at": {"type": "string"}}},
    handler=dict,
    examples=[Example("in 5 minutes", {"at": "10:05"}, "Set.", "ok", [ExampleStep("clock", {}, "10:00")])],
)


@asynccontextmanager
async def saying(*statuses: str) -> AsyncIterator[str]:
    """A server that answers each `/health` with the next of these statuses, and then with the last."""
    left = list(statuses)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        status = left.pop(0) if len(left) > 1 else left[0]
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def ask(model: EmbeddedModel, *tools: Tool) -> Reply:
    request = ModelRequest([Message("system", "Be brief."), Message("user", "Time?")], tools=tools)
    return [item async for item in model.stream(request) if isinstance(item, Reply)][-1]


async def test_a_loading_server_is_waited_for() -> None:
    async with saying("503 Service Unavailable", "503 Service Unavailable", "200 OK") as url:
        assert await is_ready(url, seconds=20)


async def test_a_server_that_loads_too_long_is_not_ready() -> None:
    async with saying("503 Service Unavailable") as url:
        assert not await is_ready(url, seconds=0.5)


async def test_without_a_server_the_user_reads_how_to_start_it() -> None:
    assert not await is_ready("http://127.0.0.1:9/v1", absent_seconds=0)
    with pytest.raises(ModelError, match="not running"):
        await ask(EmbeddedModel("http://127.0.0.1:9"))


async def test_worked_turns_are_between_the_prompt_and_the_conversation(fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello")
    assert (await ask(EmbeddedModel(fake_provider.url), CLOCK)).text == "Hello"
    sent = fake_provider.requests[-1].json
    roles = [message["role"] for message in sent["messages"]]
    assert (sent["model"], sent["temperature"], roles[0], roles[-1]) == (MODEL_NAME, 0, "system", "user")
    assert "tool" in roles and sent["messages"][-1]["content"] == "Time?"


async def test_the_assistants_temperature_is_used(fake_provider: FakeProvider) -> None:
    request = ModelRequest([Message("user", "Hi")], options={"temperature": 0.7})
    async for _ in EmbeddedModel(fake_provider.url).stream(request):
        pass
    assert fake_provider.requests[-1].json["temperature"] == 0.7


def test_an_example_becomes_a_question_a_call_its_result_and_an_answer() -> None:
    turns = worked_turns([(CLOCK, CLOCK.examples[0])])
    call = next(message for message in turns if message.tool_calls)
    at = turns.index(call)
    assert turns[at - 1] == Message("user", "time?")
    assert turns[at + 1] == Message("tool", "10:00", tool_call_id=call.tool_calls[0].id)
    assert turns[at + 2] == Message("assistant", "Ten.")


def test_an_example_that_calls_another_tool_first_shows_both_calls() -> None:
    calls = [
        call
        for message in worked_turns([(one, one.examples[0]) for one in (ALARM, CLOCK)])
        for call in message.tool_calls
    ]
    assert [(call.name, json.loads(call.arguments)) for call in calls[:2]] == [
        ("clock", {}),
        ("alarm", {"at": "10:05"}),
    ]
    assert len({call.id for call in calls}) == len(calls)


def test_an_example_whose_first_tool_is_not_offered_is_left_out() -> None:
    asked = [Message("user", "an alarm in 5 minutes")]
    assert example_turns(ModelRequest(asked), [ALARM]) == []
    assert [call.name for turn in example_turns(ModelRequest(asked), [ALARM, CLOCK]) for call in turn.tool_calls] == [
        "clock",
        "alarm",
    ]


def test_tools_without_examples_make_no_turns() -> None:
    plain = Tool(name="plain", description="x", parameters=EMPTY, handler=dict)
    assert example_turns(ModelRequest([Message("user", "plain")]), [plain]) == []


def test_a_request_for_a_typed_answer_has_no_worked_turns() -> None:
    request = ModelRequest([Message("user", "Hi")], [CLOCK], response_format={"type": "json_object"})
    assert list(prepared(request).messages) == [Message("user", "Hi")]


def test_a_long_result_is_cut_and_says_so() -> None:
    request = ModelRequest([Message("user", "Hi"), Message("tool", "x" * 99_999, tool_call_id="a")])
    content = prepared(request).messages[-1].content
    assert content.endswith(" [cut]") and len(content) < RESULT_CHARACTERS + 10


def test_a_long_conversation_is_shortened_to_the_context() -> None:
    long = [Message("user" if n % 2 == 0 else "assistant", f"{n} " + "word " * 400) for n in range(101)]
    kept = prepared(ModelRequest([Message("system", "Be brief."), *long])).messages
    assert kept[0].content == "Be brief." and kept[-1] == long[-1]
    assert len(kept) < 20


def called(number: int) -> tuple[Message, Message]:
    """A call of the clock and its result."""
    call = ToolCall(f"c{number}", "clock", "{}")
    return Message("assistant", tool_calls=(call,)), Message("tool", "10:00", tool_call_id=call.id)


def test_a_repeated_call_is_prevented_from_being_made_again() -> None:
    question, again = Message("user", "time?"), [*called(1), *called(2)]
    assert banned(question, *again) == [" asked", "```"]
    assert banned(question, *called(1)) == [" asked"]
    assert banned(question, *called(1), Message("assistant", "Ten."), question, *called(2)) == [" asked"]
    assert banned(question) == []


def banned(*messages: Message) -> list[str]:
    """Return the texts that are excluded from the answer."""
    options = prepared(ModelRequest(messages, tools=[CLOCK])).options
    return [text for text, _ in options.get("logit_bias", [])]


async def test_prompts_are_read_ahead_from_what_the_first_has_in_common(
    fake_provider: FakeProvider, tmp_path: Path
) -> None:
    asked: list[str] = []

    def answer(request: Recorded) -> Answer:
        asked.append(request.path.partition("?")[2] or "read")
        return respond(200, {}) if "/slots/" in request.path else reply("x")(request)

    fake_provider.rule(answer)
    first, second = (ModelRequest([Message("system", text), Message("user", "hi")]) for text in ("One.", "Two."))
    await read_ahead(fake_provider.url.removesuffix("/v1"), [first, second], states=tmp_path, key="k")
    assert asked == ["read", "action=save", "action=restore", "read", "action=save"]
