"""The cost of reading a stream as a number of function calls, which is the same on every machine, unlike times."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import httpx2
import pytest

from assistant.core.values.messages import Reply
from assistant.providers.openai_wire.reply_assembler import Assembler
from assistant.providers.openai_wire.sse import CHUNKS, StreamReader
from assistant.providers.openai_wire.text_tags import TextTags
from tests.fake_answers import Answer, chunk, event
from tests.fake_provider import FakeProvider
from tests.providers.asking import ask
from tests.providers.quirks import end, say, sse

# Calls of Python and C functions from the bytes of an event to the delta with its text.
CALLS_PER_EVENT = 13
# The same if every event arrives in a read of its own.
CALLS_PER_READ = 28
# Calls for a read that does not end a line, while a long line arrives.
CALLS_PER_PIECE = 10


def calls_of(work: Callable[[], object]) -> int:
    """Count the function calls in the block."""
    count = 0

    def note(frame: FrameType, kind: str, argument: Any) -> None:
        nonlocal count
        count += kind in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def read(reads: Sequence[bytes]) -> str:
    """Return the text of an answer that arrives in these reads of the socket."""
    reader, assembler = StreamReader(CHUNKS), Assembler()
    for data in reads:
        for part in reader.feed(data):
            assembler.feed(part)
        assembler.take()
    return assembler.finish(is_closed=True).text


def events(count: int) -> list[bytes]:
    return [event(chunk({"content": f"word{number % 10} "})) for number in range(count)]


def test_the_function_calls_for_an_event_are_bounded() -> None:
    few, many = [b"".join(events(count)) for count in (100, 1100)]
    assert (calls_of(lambda: read([many])) - calls_of(lambda: read([few]))) / 1000 <= CALLS_PER_EVENT


def test_an_event_in_a_read_of_its_own_costs_little_more() -> None:
    few, many = events(100), events(1100)
    assert (calls_of(lambda: read(many)) - calls_of(lambda: read(few))) / 1000 <= CALLS_PER_READ


def test_a_long_line_in_small_pieces_costs_no_more_for_its_length() -> None:
    line = event(chunk({"content": "word " * 4000}))
    pieces = [line[start : start + 10] for start in range(0, len(line), 10)]
    assert calls_of(lambda: read(pieces)) / len(pieces) <= CALLS_PER_PIECE


@pytest.mark.parametrize("piece", ["<", "<a", "<|", "< "])
def test_what_begins_like_a_tag_costs_no_more_for_its_length(piece: str) -> None:
    def look_through(count: int) -> None:
        tags = TextTags(lambda: "So: ")
        assert [kind for kind, _ in tags.add(f"{piece * count}.")] == ["text"]

    assert calls_of(lambda: look_through(2_000)) == calls_of(lambda: look_through(4_000))


async def test_an_uncompressed_body_is_read_directly(
    fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast path uses private names of two packages: if these change, answers still arrive, at a higher cost."""
    passed: list[object] = []
    through = httpx2.Response.aiter_bytes
    monkeypatch.setattr(httpx2.Response, "aiter_bytes", lambda one: passed.append(one) or through(one))
    fake_provider.reply("Hi")
    assert isinstance((await ask(fake_provider))[1], Reply)
    assert passed == []
    fake_provider.queue(Answer([gzip.compress(sse(say("Hi"), end()))], headers={"Content-Encoding": "gzip"}))
    assert isinstance((await ask(fake_provider))[1], Reply)
    assert len(passed) == 1
