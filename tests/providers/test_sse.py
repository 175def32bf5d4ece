"""The event reader alone: limits, line ends, and its cost in function calls."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from assistant.core.llm.protocol import TextDelta
from assistant.providers.openai_wire.chunks import Chunk
from assistant.providers.openai_wire.reply_assembler import Assembler
from assistant.providers.openai_wire.sse import CHUNKS, MAX_EVENT_BYTES, StreamReader
from tests.providers.quirks import end, say, sse


def texts(reader: StreamReader[Chunk], *pieces: bytes) -> str:
    """Return the text of the chunks in these pieces."""
    assembler = Assembler()
    for chunk in [chunk for piece in pieces for chunk in reader.feed(piece)]:
        assembler.feed(chunk)
    return "".join(delta.text for delta in assembler.take() if isinstance(delta, TextDelta))


def test_a_chunk_comes_with_the_end_of_its_line() -> None:
    reader = StreamReader(CHUNKS)
    body = sse(say("Hi"), done=False)
    assert texts(reader, body[:-2]) == ""
    assert texts(reader, body[-2:-1]) == "Hi"


def test_nothing_is_read_after_done() -> None:
    reader = StreamReader(CHUNKS)
    assert texts(reader, sse(say("a")), sse(say("b"))) == "a"
    assert reader.is_done


def test_chunks_before_a_broken_event_are_kept() -> None:
    reader = StreamReader(CHUNKS)
    assert texts(reader, sse(say("a"), b"data: {nope}\n\n", say("b"))) == "a"
    assert reader.failure is not None


def test_the_length_of_a_line_is_limited() -> None:
    reader = StreamReader(CHUNKS)
    large = "x" * (MAX_EVENT_BYTES // 2)
    assert texts(reader, sse(say(large))) == large
    reader = StreamReader(CHUNKS)
    for _ in range(5):
        reader.feed(b"x" * (MAX_EVENT_BYTES // 4))
    assert reader.failure is not None


def test_the_size_of_an_event_of_many_lines_is_limited() -> None:
    reader = StreamReader(CHUNKS)
    for _ in range(5):
        reader.feed(b"data: [" + b" " * (MAX_EVENT_BYTES // 4) + b"\n")
    assert reader.failure is not None


def test_reading_a_chunk_takes_a_bounded_number_of_calls() -> None:
    body, calls = sse(*(say(f"word {number} ") for number in range(1000)), end()), 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    reader, assembler = StreamReader(CHUNKS), Assembler()
    sys.setprofile(count)
    try:
        for start in range(0, len(body), 16384):
            for chunk in reader.feed(body[start : start + 16384]):
                assembler.feed(chunk)
            assembler.take()
    finally:
        sys.setprofile(None)
    assert len(assembler.finish(is_closed=True).text) == 8890
    assert calls / 1000 < 12, calls
