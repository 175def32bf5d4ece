"""Every row of docs/provider-quirks.md, over HTTP and over every way the bytes can be cut."""

from __future__ import annotations

import itertools
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.core.llm.protocol import Delta, ModelError, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.values.messages import Reply
from assistant.providers.openai_wire.reply_assembler import Assembler
from assistant.providers.openai_wire.sse import CHUNKS, StreamReader
from tests.fake_provider import FakeProvider
from tests.providers.asking import ask, comparable, content_of
from tests.providers.quirks import QUIRKS, TOOLS, Quirk

TABLE = Path(__file__).parents[2] / "docs" / "provider-quirks.md"
by_name = pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: quirk.name)


@by_name
async def test_quirk(fake_provider: FakeProvider, quirk: Quirk) -> None:
    fake_provider.raw(quirk.body)
    deltas, outcome = await ask(fake_provider)
    check(quirk, deltas, outcome)


@pytest.mark.slow
@by_name
@pytest.mark.usefixtures("listener")
async def test_quirk_that_comes_piece_by_piece(fake_provider: FakeProvider, quirk: Quirk) -> None:
    size = max(1, len(quirk.body) // 12)
    pieces = [quirk.body[at : at + size] for at in range(0, len(quirk.body), size)]
    fake_provider.raw(*(step for piece in pieces for step in (piece, 0.001)))
    check(quirk, *await ask(fake_provider))


@pytest.mark.slow
@by_name
def test_any_cut_of_the_bytes_gives_the_same(quirk: Quirk) -> None:
    whole = read(quirk.body, [])
    check(quirk, *whole)
    for place in range(1, len(quirk.body)):
        assert comparable(*read(quirk.body, [place])) == comparable(*whole)
    assert comparable(*read(quirk.body, list(range(1, len(quirk.body))))) == comparable(*whole), "a byte at a time"


@given(st.data())
def test_any_cuts_of_the_bytes_give_the_same(data: st.DataObject) -> None:
    quirk = data.draw(st.sampled_from(QUIRKS))
    places = data.draw(st.lists(st.integers(0, len(quirk.body)), max_size=40).map(sorted))
    assert comparable(*read(quirk.body, places)) == comparable(*read(quirk.body, []))


def test_the_table_and_the_tests_agree() -> None:
    # `test_kinds` checks the rest.
    document = TABLE.read_text().partition("## Kinds of providers")[0]
    inputs = [
        row.replace("`", "") for row in re.findall(r"^\| ((?!Input|-)[^|]+) \| [^|]+ \|$", document, re.MULTILINE)
    ]
    assert sorted(inputs) == sorted(quirk.name for quirk in QUIRKS)
    named = re.findall(r"^\|.*\| `(test_\w+)` \|$", document, re.MULTILINE)
    files = ("test_provider_accidents.py", "test_recovery.py", "test_text_tags.py")
    accidents, *others = (
        {*re.findall(r"def (test_\w+)", (Path(__file__).parent / name).read_text())} for name in files
    )
    assert len(named) == len(set(named))
    assert accidents <= set(named) <= accidents.union(*others)


def read(body: bytes, places: list[int]) -> tuple[list[Delta], Reply | ModelError]:
    """Read a body as if the socket delivered it in these pieces."""
    reader, assembler, deltas = StreamReader(CHUNKS), Assembler(names=TOOLS), []
    arrivals = [reader.feed(body[start:stop]) for start, stop in pairwise([0, *places, len(body)])]
    try:
        for chunk in [*itertools.chain(*arrivals), *reader.close()]:
            assembler.feed(chunk)
            deltas += assembler.take()
        if reader.failure:
            return deltas, reader.failure
        reply = assembler.finish(is_closed=reader.is_done)
    except ModelError as error:
        return [*deltas, *assembler.take()], error
    return [*deltas, *assembler.take()], reply


def check(quirk: Quirk, deltas: list[Delta], outcome: Reply | ModelError) -> None:
    if isinstance(outcome, ModelError):
        assert quirk.error, f"unexpected: {outcome}"
        assert quirk.error in str(outcome)
        assert outcome.code == quirk.code
        return
    assert not quirk.error, f"expected an error, got {outcome}"
    assert (outcome.text, outcome.reasoning, outcome.finish_reason) == (quirk.text, quirk.reasoning, quirk.finish)
    assert tuple((call.name, call.arguments) for call in outcome.tool_calls) == quirk.calls
    ids = [call.id for call in outcome.tool_calls]
    assert all(ids) and len(set(ids)) == len(ids)
    assert content_of(deltas) == (outcome.text, outcome.reasoning, list(outcome.tool_calls))
    assert all(isinstance(delta, TextDelta | ReasoningDelta | ToolCallDelta) for delta in deltas)
