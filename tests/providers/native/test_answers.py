"""Every answer of `quirks`, over HTTP and over every way the bytes can be cut, and the table that lists them."""

from __future__ import annotations

import itertools
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from assistant.core.llm.protocol import Delta, ModelError, ModelRequest, ToolCallDelta
from assistant.core.values.messages import Message, Reply
from assistant.providers.anthropic.assembler import AnthropicAssembler
from assistant.providers.anthropic.events import Event
from assistant.providers.google.assembler import GoogleAssembler
from assistant.providers.google.events import Chunk
from assistant.providers.openai_wire.sse import Decoder, StreamReader
from tests.fake_provider import FakeProvider
from tests.providers.asking import comparable, content_of, offered
from tests.providers.native.quirks import ANTHROPIC, GOOGLE
from tests.providers.native.wires import WIRES, model_at
from tests.providers.quirks import TOOLS, Quirk

TABLE = Path(__file__).parents[3] / "docs" / "provider-quirks.md"
QUIRKS = [*(("anthropic", one) for one in ANTHROPIC), *(("google", one) for one in GOOGLE)]
by_name = pytest.mark.parametrize(("wire", "quirk"), QUIRKS, ids=lambda one: getattr(one, "name", one))
SECTIONS = {"anthropic": ("### Answers of Anthropic", ANTHROPIC), "google": ("### Answers of Gemini", GOOGLE)}


async def ask(provider: FakeProvider, wire: str, **options: Any) -> tuple[list[Delta], Reply | ModelError]:
    """Return the deltas, and the reply or the error at their end."""
    request = ModelRequest([Message("user", "Hi")], tools=offered(*TOOLS))
    deltas: list[Delta] = []
    try:
        async for item in model_at(provider, WIRES[wire], **options).stream(request):
            if isinstance(item, Reply):
                return deltas, item
            deltas.append(item)
    except ModelError as error:
        return deltas, error
    raise AssertionError("a stream ended without a reply")


def read(wire: str, body: bytes, places: list[int]) -> tuple[list[Delta], Reply | ModelError]:
    """Read a body as if the socket delivered it in these pieces."""
    reader: Any = StreamReader(Decoder(Event if wire == "anthropic" else Chunk))
    assembler: Any = AnthropicAssembler("m") if wire == "anthropic" else GoogleAssembler("m")
    deltas: list[Delta] = []
    arrivals = [reader.feed(body[start:stop]) for start, stop in pairwise([0, *places, len(body)])]
    try:
        for one in [*itertools.chain(*arrivals), *reader.close()]:
            assembler.feed(one)
            deltas += assembler.take()
        if reader.failure:
            return deltas, reader.failure
        reply = assembler.finish()
    except ModelError as error:
        return [*deltas, *assembler.take()], error
    return [*deltas, *assembler.take()], reply


@by_name
async def test_answer(fake_provider: FakeProvider, wire: str, quirk: Quirk) -> None:
    is_whole = not quirk.body.startswith((b"data:", b"event:"))
    fake_provider.raw(quirk.body, content_type="application/json" if is_whole else "text/event-stream")
    check(quirk, *await ask(fake_provider, wire))


@pytest.mark.slow
@by_name
def test_any_cut_of_the_bytes_gives_the_same(wire: str, quirk: Quirk) -> None:
    whole = read(wire, quirk.body, [])
    check(quirk, *whole)
    for place in range(1, len(quirk.body), 3):
        assert comparable(*read(wire, quirk.body, [place])) == comparable(*whole)
    assert comparable(*read(wire, quirk.body, list(range(1, len(quirk.body))))) == comparable(*whole), "byte by byte"


@pytest.mark.parametrize("wire", SECTIONS)
def test_the_table_and_the_answers_agree(wire: str) -> None:
    heading, quirks = SECTIONS[wire]
    section = re.split(r"\n###? ", TABLE.read_text().partition(heading)[2])[0]
    assert re.findall(r"^\| ((?!Answer|-)[^|]+) \|", section, re.MULTILINE) == [one.name for one in quirks]


def check(quirk: Quirk, deltas: list[Delta], outcome: Reply | ModelError) -> None:
    if isinstance(outcome, ModelError):
        assert quirk.error and quirk.error in str(outcome), outcome
        assert outcome.code == quirk.code
        return
    assert not quirk.error, f"expected an error, got {outcome}"
    assert (outcome.text, outcome.reasoning, outcome.finish_reason) == (quirk.text, quirk.reasoning, quirk.finish)
    assert tuple((call.name, call.arguments) for call in outcome.tool_calls) == quirk.calls
    assert len({call.id for call in outcome.tool_calls if call.id}) == len(outcome.tool_calls)
    text, reasoning, calls = content_of(deltas)
    assert (text, reasoning) == (outcome.text, outcome.reasoning)
    assert [(one.id, one.name, one.arguments or "{}") for one in calls] == [
        (one.id, one.name, one.arguments) for one in outcome.tool_calls
    ]
    assert sum(isinstance(delta, ToolCallDelta) and bool(delta.id) for delta in deltas) == len(calls)
