"""Replies from streams of a Responses server: what it may send, over HTTP and cut at every byte."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assistant.core.llm.protocol import Delta, ModelError, ModelRequest, ProviderCall, TextDelta, ToolCallDelta
from assistant.core.values.messages import Message, Reply, Usage
from assistant.providers import ResponsesModel
from assistant.providers.openai_wire.sse import StreamReader
from assistant.providers.responses.events import EVENTS
from assistant.providers.responses.reply_assembler import ResponseAssembler
from tests.fake_answers import Answer, event
from tests.fake_provider import FakeProvider
from tests.providers.asking import comparable, content_of
from tests.providers.responses.wire import (
    USAGE,
    Body,
    answer,
    calls,
    ended,
    ending,
    events_of,
    refuses,
    says,
    searches,
    sse,
    streamed,
    thinks,
)

TABLE = Path(__file__).parents[3] / "docs" / "provider-quirks.md"
ASK = {"number": 42}
TOO_LONG = {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}


class Case(NamedTuple):
    name: str
    body: bytes
    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    error: str = ""
    code: str = "provider_error"


def all_of(*items: Body, end: Body | None = None, without: str = "none") -> bytes:
    return sse(*(one for one in streamed(*items, end=end) if not one["type"].endswith(without)))


def delta(text: str, **more: Any) -> Body:
    return {"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": text, **more}


def raw_delta(text: str) -> bytes:
    return b'data: {"type":"response.output_text.delta","output_index":0,"delta":"' + text.encode() + b'"}\n\n'


ONE, OTHER = calls("get_time"), calls("get_customer", ASK)
CALLED = ("get_customer", '{"number": 42}')
CUT_CALL = calls("get_customer", '{"num', status="incomplete")
LIMIT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
FILTER = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
HELLO = says("Hello, you")
IMAGE = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "aGk="}

CASES = [
    Case("Text", all_of(HELLO), "Hello, you"),
    Case("Text without the ends of items", all_of(HELLO, without="item.done"), "Hello, you"),
    Case("Text without deltas", all_of(HELLO, without=".delta"), "Hello, you"),
    Case("Only the last event", sse(ending(HELLO)), "Hello, you"),
    Case("An empty list of items at the end", sse(*streamed(HELLO, end=ending())), "Hello, you"),
    Case("Deltas and nothing else", sse(delta("Hel"), delta("lo"), ending()), "Hello"),
    Case("Deltas without a place", sse({"type": "response.output_text.delta", "delta": "Hello"}, ending()), "Hello"),
    Case("Another id at the end", sse(*streamed(HELLO, end=ending({**HELLO, "id": "other"}))), "Hello, you"),
    Case("A response that was not streamed", event(ended(HELLO)), "Hello, you"),
    Case("Two texts", all_of(says("One.", phase="commentary"), says("Two.")), "One.\n\nTwo."),
    Case("Reasoning", all_of(thinks("Hm."), HELLO), "Hello, you", "Hm."),
    Case("Two parts of reasoning", all_of(thinks("Hm."), thinks("So."), HELLO), "Hello, you", "Hm.\n\nSo."),
    Case("Reasoning as text", sse({"type": "response.reasoning_text.delta", "delta": "Hm."}, *streamed(HELLO)[1:]),
         "Hello, you", "Hm."),
    Case("A call", all_of(thinks(), OTHER), calls=(CALLED,), finish="tool_calls"),
    Case("Two calls", all_of(ONE, OTHER), calls=(("get_time", "{}"), CALLED), finish="tool_calls"),
    Case("Two calls whose events are mixed",
         sse(*(one for pair in zip(events_of(0, OTHER), events_of(1, calls("get_customer", ASK)), strict=True)
               for one in pair), ending()), calls=(CALLED, CALLED), finish="tool_calls"),
    Case("A call without deltas", all_of(OTHER, without=".delta"), calls=(CALLED,), finish="tool_calls"),
    Case("A call in the last event only", sse(ending(OTHER)), calls=(CALLED,), finish="tool_calls"),
    Case("A call without arguments", all_of(calls("get_time", "")), calls=(("get_time", "{}"),), finish="tool_calls"),
    Case("Arguments as an object", sse(ending({**OTHER, "arguments": ASK})), calls=(CALLED,), finish="tool_calls"),
    Case("Text and a call", all_of(HELLO, OTHER), "Hello, you", calls=(CALLED,), finish="tool_calls"),
    Case("Arguments with other spaces at the end", sse(*streamed(OTHER, end=ending({**OTHER, "arguments":
         '{"number":42}'}))), calls=(CALLED,), finish="tool_calls"),
    Case("Other arguments at the end", sse(*list(events_of(0, OTHER))[:-1],
         {"type": "response.output_item.done", "output_index": 0, "item": {**OTHER, "arguments": '{"number": 43}'}}),
         error="mixed up"),
    Case("A call without a name", sse(ending({**OTHER, "name": ""})), error="without naming it"),
    Case("Another text at the end", sse(*list(events_of(0, HELLO))[:-1],
         {"type": "response.output_item.done", "output_index": 0, "item": says("Goodbye")}), error="another text"),
    Case("A refusal", all_of(refuses("I cannot.")), "I cannot.", finish="refusal"),
    Case("A refusal after a call", all_of(OTHER, refuses("No.")), error="refused to continue"),
    Case("The limit, in the text", all_of(HELLO, end=ending(HELLO, **LIMIT)), "Hello, you", finish="length"),
    Case("The limit, before any text", sse(ending(thinks(), **LIMIT)), finish="length"),
    Case("The limit, in a call", all_of(CUT_CALL, end=ending(CUT_CALL, **LIMIT)), error="middle of a tool call"),
    Case("The limit, after a call that looks complete", all_of(OTHER, end=ending(OTHER, **LIMIT)),
         error="middle of a tool call"),
    Case("A filter", all_of(HELLO, end=ending(HELLO, **FILTER)), "Hello, you", finish="content_filter"),
    Case("An unknown reason", all_of(HELLO, end=ending(HELLO, status="incomplete",
         incomplete_details={"reason": "steered"})), error="broke off"),
    Case("Failed", all_of(HELLO, end=ending(status="failed", error={"code": "server_error", "message": "x"})),
         error="The provider failed"),
    Case("Failed by a rate limit", sse(ending(status="failed", error={"code": "rate_limit_exceeded", "message": "x"})),
         error="too many requests", code="provider_rate_limited"),
    Case("Failed by the prompt", sse(ending(status="failed", error={"code": "invalid_prompt", "message": "x"})),
         error="did not accept"),
    Case("Failed because it is too long", sse(ending(status="failed", error=TOO_LONG)), error="too long"),
    Case("Failed without a reason", sse(ending(status="failed")), error="The provider failed"),
    Case("Cancelled", sse(ending(status="cancelled")), error="The provider failed"),
    Case("An error event", sse({"type": "error", "code": "server_error", "message": "x", "param": None}),
         error="The provider failed"),
    Case("An error event with an error object", sse({"type": "error", "error": TOO_LONG}), error="too long"),
    Case("An error without a type", event({"error": {"message": "x", "code": "rate_limit_exceeded"}}),
         error="too many requests", code="provider_rate_limited"),
    Case("An error as text, with a status", b'{"error": "Unauthorized", "status": 401}', error="refused the key"),
    Case("Cut in the text", sse(*streamed(HELLO)[:5]), error="broke off"),
    Case("Cut after a complete call", sse(*streamed(OTHER)[:-1]), error="broke off"),
    Case("[DONE] without a last event", sse(*streamed(HELLO)[:-1]) + event("[DONE]"), "Hello, you"),
    Case("[DONE] after the last event", sse(*streamed(HELLO)) + event("[DONE]"), "Hello, you"),
    Case("[DONE] in the text", sse(*streamed(HELLO)[:5]) + event("[DONE]"), error="broke off"),
    Case("Nothing at all", b"", error="broke off"),
    Case("An empty answer", sse(ending()), error="empty answer"),
    Case("Reasoning and no answer", all_of(thinks("Hm.")), error="empty answer"),
    Case("An image alone", all_of(thinks("Hm."), IMAGE), error="an image or sound alone"),
    Case("An image beside the text", all_of(thinks("Hm."), IMAGE, HELLO), "Hello, you", "Hm."),
    Case("Events of unknown kinds", sse({"type": "response.new.thing", "delta": "x"}, *streamed(HELLO)), "Hello, you"),
    Case("Items of unknown kinds", all_of({"type": "program", "id": "p"}, HELLO), "Hello, you"),
    Case("A call that is not a function's", all_of({"type": "custom_tool_call", "id": "c", "input": "x"}),
         error="cannot be read"),
    Case("Null fields", sse(delta("Hi", item_id=None, output_index=None), ending()), "Hi"),
    Case("Text cut inside a surrogate pair", raw_delta(r"\ud83d") + raw_delta(r"\udc80") + sse(ending()), "💀"),
    Case("A lone surrogate in text", raw_delta(r"a\ud83d") + sse(ending()), "a\ufffd"),
    Case("NUL in text", raw_delta(r"a\u0000b") + sse(ending()), "a\ufffdb"),
    Case("Thinking between tags", all_of(says("<think>Hm.</think>\n\nHello")), "Hello", "Hm."),
    Case("Bad JSON", b"data: {]\n\n", error="cannot be read"),
    Case("Comments and CRLF", b": hi\r\n\r\n" + all_of(HELLO).replace(b"\n", b"\r\n"), "Hello, you"),
]  # fmt: skip
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@by_name
async def test_reply(fake_provider: FakeProvider, case: Case) -> None:
    fake_provider.raw(case.body)
    check(case, *await ask(fake_provider))


@pytest.mark.slow
@by_name
def test_any_cut_of_the_bytes_gives_the_same(case: Case) -> None:
    whole = read(case.body, [])
    check(case, *whole)
    for place in range(1, len(case.body)):
        assert comparable(*read(case.body, [place])) == comparable(*whole)
    assert comparable(*read(case.body, list(range(1, len(case.body))))) == comparable(*whole), "a byte at a time"


async def ask(provider: FakeProvider, **options: Any) -> tuple[list[Delta], Reply | ModelError]:
    model = ResponsesModel("o4-mini", base_url=provider.url, api_key="", **{"max_retries": 0, **options})
    deltas: list[Delta] = []
    try:
        async for item in model.stream(ModelRequest([Message("user", "Hi")])):
            if isinstance(item, Reply):
                return deltas, item
            deltas.append(item)
    except ModelError as error:
        return deltas, error
    raise AssertionError("a stream ended without a reply")


def read(body: bytes, places: list[int]) -> tuple[list[Delta], Reply | ModelError]:
    reader = StreamReader(EVENTS)
    assembler, deltas = ResponseAssembler(reader=reader), []
    try:
        for start, stop in pairwise([0, *places, len(body)]):
            for one in reader.feed(body[start:stop]):
                assembler.feed(one)
                deltas += assembler.take()
        for one in reader.close():
            assembler.feed(one)
        if reader.failure:
            return deltas, reader.failure
        reply = assembler.finish(is_closed=reader.is_done)
    except ModelError as error:
        return [*deltas, *assembler.take()], error
    return [*deltas, *assembler.take()], reply


def check(case: Case, deltas: list[Delta], outcome: Reply | ModelError) -> None:
    if isinstance(outcome, ModelError):
        assert case.error, f"unexpected: {outcome} {outcome.cause}"
        assert case.error in str(outcome)
        assert outcome.code == case.code
        return
    assert not case.error, f"expected an error, got {outcome}"
    assert (outcome.text, outcome.reasoning, outcome.finish_reason) == (case.text, case.reasoning, case.finish)
    assert tuple((call.name, call.arguments) for call in outcome.tool_calls) == case.calls
    assert content_of(deltas) == (outcome.text, outcome.reasoning, list(outcome.tool_calls))


async def test_tokens_are_counted_as_the_provider_counts_them(fake_provider: FakeProvider) -> None:
    fake_provider.queue(answer(HELLO))
    _, reply = await ask(fake_provider)
    assert isinstance(reply, Reply)
    assert reply.usage == Usage(11, 7, 4, reasoning_tokens=2, cache_write_tokens=3)
    assert reply.model == "fake"


async def test_tokens_of_a_failed_response_are_kept(fake_provider: FakeProvider) -> None:
    fake_provider.queue(answer(HELLO, end=ending(status="failed", error={"code": "server_error"}, usage=USAGE)))
    _, error = await ask(fake_provider)
    assert isinstance(error, ModelError) and error.usage.input_tokens == 11


async def test_a_call_comes_as_deltas_with_the_providers_id(fake_provider: FakeProvider) -> None:
    fake_provider.queue(answer(calls("get_time", ASK, call_id="call_7")))
    deltas, reply = await ask(fake_provider)
    assert isinstance(deltas[0], ToolCallDelta) and (deltas[0].id, deltas[0].name) == ("call_7", "get_time")
    assert isinstance(reply, Reply) and reply.tool_calls[0].id == "call_7"


async def test_a_search_comes_before_the_text_that_was_written_after_it(fake_provider: FakeProvider) -> None:
    fake_provider.queue(answer(thinks(), searches("owls", "https://www.owls.org/a", "https://b.net"), HELLO))
    deltas, reply = await ask(fake_provider)
    search, text = deltas
    assert isinstance(search, ProviderCall) and isinstance(text, TextDelta)
    assert (search.arguments, search.sources) == ('{"query": "owls"}', ("owls.org", "b.net"))
    assert isinstance(reply, Reply) and reply.text == "Hello, you"


async def test_a_response_that_is_not_streamed_is_read(fake_provider: FakeProvider) -> None:
    fake_provider.queue(Answer([event(ended(HELLO))[6:]], content_type="application/json"))
    _, reply = await ask(fake_provider)
    assert isinstance(reply, Reply) and reply.text == "Hello, you"


def test_the_table_and_the_tests_agree() -> None:
    section = re.split(r"\n###? ", TABLE.read_text().partition("### Answers of Responses")[2])[0]
    rows = re.findall(r"^\| ((?!Answer|-)[^|]+) \| [^|]+ \|$", section, re.MULTILINE)
    assert [row.replace("`", "") for row in rows] == [case.name for case in CASES]
