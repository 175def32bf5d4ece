"""The byte reader by itself: bounds, ends, and what it costs in operations, which do not depend on the machine."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from assistant.core.assembling import Assembler
from assistant.core.model import TextDelta
from assistant.providers.sse import MAX_EVENT_BYTES, NOT_JSON, EventReader
from tests.providers.quirks import end, say, sse
from tools.bounded_json import MAX_DEPTH


def texts(reader: EventReader, *pieces: bytes) -> str:
    """The text that can be shown once these pieces have come."""
    assembler = Assembler()
    for chunk in [chunk for piece in pieces for chunk in reader.feed(piece)]:
        assembler.feed(chunk)
    return "".join(delta.text for delta in assembler.take() if isinstance(delta, TextDelta))


def test_a_chunk_comes_with_the_end_of_its_line() -> None:
    reader = EventReader()
    body = sse(say("Hi"), done=False)
    assert texts(reader, body[:-2]) == ""
    assert texts(reader, body[-2:-1]) == "Hi"


def test_nothing_is_read_after_done() -> None:
    reader = EventReader()
    assert texts(reader, sse(say("a")), sse(say("b"))) == "a"
    assert reader.is_done


def test_chunks_before_a_broken_event_are_kept() -> None:
    reader = EventReader()
    assert texts(reader, sse(say("a"), b"data: {nope}\n\n", say("b"))) == "a"
    assert reader.failure is not None


def test_a_line_may_be_large_but_not_endless() -> None:
    reader = EventReader()
    large = "x" * (MAX_EVENT_BYTES // 2)
    assert texts(reader, sse(say(large))) == large
    reader = EventReader()
    for _ in range(5):
        reader.feed(b"x" * (MAX_EVENT_BYTES // 4))
    assert reader.failure is not None


def test_an_event_of_many_lines_is_not_endless() -> None:
    reader = EventReader()
    for _ in range(5):
        reader.feed(b"data: [" + b" " * (MAX_EVENT_BYTES // 4) + b"\n")
    assert reader.failure is not None


def event_of(levels: int) -> bytes:
    """An event of so many levels, its own among them."""
    return b'data: {"x": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}\n\n"


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH])
def test_an_event_is_read_down_to_the_deepest_level(levels: int) -> None:
    reader = EventReader()
    assert texts(reader, event_of(levels), sse(say("Hi"))) == "Hi"
    assert reader.failure is None


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 900, 9_000, 200_000])
def test_a_deeper_event_cannot_be_read(levels: int) -> None:
    reader = EventReader()
    assert texts(reader, sse(say("Hi"), done=False), event_of(levels), sse(say("more"))) == "Hi"
    assert reader.failure is not None and NOT_JSON in str(reader.failure)


def test_reading_a_chunk_takes_a_bounded_number_of_calls() -> None:
    body, calls = sse(*(say(f"word {number} ") for number in range(1000)), end()), 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    reader, assembler = EventReader(), Assembler()
    sys.setprofile(count)
    try:
        for start in range(0, len(body), 16384):
            for chunk in reader.feed(body[start : start + 16384]):
                assembler.feed(chunk)
            assembler.take()
    finally:
        sys.setprofile(None)
    assert len(assembler.finish(is_closed=True).text) == 8890
    assert calls / 1000 < 14, calls
