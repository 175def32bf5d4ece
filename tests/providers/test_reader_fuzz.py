"""Fuzz tests of the reader: any input gives a reply or a typed error, and deltas and reply agree."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.core.values.events import encode
from assistant.core.values.messages import Reply
from tests.fake_answers import chunk, event
from tests.providers.asking import comparable, content_of
from tests.providers.quirks import TOOLS
from tests.providers.test_provider_quirks import read

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)

WORD = event(chunk({"content": "wörd"}))
texts = st.text(st.characters(codec=None), max_size=4)


def chunks(noise: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Streams with fields of the right type or noise; any field may be missing."""

    def made_of(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({}, optional={name: strategy | noise for name, strategy in fields.items()})

    names = st.sampled_from([*TOOLS, "get_", "time", ""])
    function = made_of(name=names | texts, arguments=st.sampled_from(["", "{}", '{"a"', ":1}"]) | texts)
    call = made_of(index=st.integers(0, 2), id=st.sampled_from(["a", "b", ""]) | texts, function=function)
    part = made_of(type=st.sampled_from(["text", "thinking", "refusal"]), text=texts)
    piece = made_of(
        content=texts | st.lists(part, max_size=2),
        reasoning=texts,
        refusal=texts,
        tool_calls=st.lists(call, max_size=3),
        function_call=function,
    )
    reasons = st.sampled_from(["stop", "tool_calls", "length", None])
    choice = made_of(index=st.just(0), delta=piece, finish_reason=reasons)
    return st.lists(made_of(choices=st.lists(choice, max_size=2), usage=anything, model=texts), min_size=1, max_size=6)


def check(stream: list[dict[str, Any]]) -> None:
    deltas, outcome = read(b"".join(event(json.dumps(value)) for value in stream) + event("[DONE]"), [])
    if isinstance(outcome, Reply):
        assert content_of(deltas) == (outcome.text, outcome.reasoning, list(outcome.tool_calls))
        assert outcome.text.strip() or outcome.tool_calls or outcome.finish_reason not in ("stop", "tool_calls")
        assert all(call.name and call.arguments for call in outcome.tool_calls)
        assert encode(outcome)


@given(chunks(st.nothing()))
def test_any_chunks_give_a_reply_or_a_typed_error(stream: list[dict[str, Any]]) -> None:
    check(stream)


@given(chunks(anything))
def test_any_values_give_a_reply_or_a_typed_error(stream: list[dict[str, Any]]) -> None:
    check(stream)


@given(st.lists(st.sampled_from([b"data:", b"{", b"}", b"\n", b"\r", b": ", b"[DONE]", b'"choices"', b"\xff", b"[]"])))
def test_any_bytes_give_a_typed_error_or_a_reply(pieces: list[bytes]) -> None:
    read(b"".join(pieces), [])


def check_cuts(body: bytes) -> None:
    """It makes no difference where the socket cuts the bytes."""
    whole = comparable(*read(body, []))
    for place in range(1, len(body)):
        assert comparable(*read(body, [place])) == whole


@settings(max_examples=15)
@given(chunks(st.nothing()))
def test_any_cut_of_any_chunks_gives_the_same(stream: list[dict[str, Any]]) -> None:
    check_cuts(b"".join(event(json.dumps(value)) for value in stream) + event("[DONE]"))


@settings(max_examples=50)
@given(st.lists(st.sampled_from([b"data:", b"{", b"}", b"\n", b"\r", b"\r\n", b" ", b"[DONE]", b'"choices":[]', WORD])))
def test_any_cut_of_any_bytes_gives_the_same(pieces: list[bytes]) -> None:
    check_cuts(b"".join(pieces))
