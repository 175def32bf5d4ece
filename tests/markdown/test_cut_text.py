"""Answers that were cut off show what was meant: no open marks at their ends."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assistant.core.values.events import (
    Cancelled,
    Custom,
    Event,
    RunError,
    RunFinished,
    RunStarted,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
    ToolCallStart,
)
from assistant.markdown.cut_text import close_marks, close_text
from assistant.markdown.render import render_block
from assistant.markdown.stream import BlockRenderer

CLOSED = {
    "This is **bold te": "This is **bold te**",
    "a *b": "a *b*",
    "a **b*": "a **b**",
    "***both": "***both***",
    "**a *b": "**a *b***",
    "**a `b": "**a `b`**",
    "_it": "_it_",
    "~~old pri": "~~old pri~~",
    "use `code wi": "use `code wi`",
    "use ``a ` b": "use ``a ` b``",
    "and **": "and",
    "use `": "use",
    "see [the docs](https://exa": "see the docs",
    "**see [the docs](https://exa": "**see the docs**",
    "![a picture](https://exa": "a picture",
    "- one\n- **two": "- one\n- **two**",
    "> a\n> b **wo": "> a\n> b **wo**",
    "# Head **li": "# Head **li**",
    "| a | b |\n|---|---|\n| 1 | **2": "| a | b |\n|---|---|\n| 1 | **2**",
    "2 * 3 is **six": "2 * 3 is **six**",
    "a\\*b *c": "a\\*b *c*",
    "**合計** と **税": "**合計** と **税**",
}
LEFT = [
    "",
    "Nothing is open.",
    "**done**",
    "2 * 3 is",
    "snake_case_na",
    "see [1] and [2",
    "a ~ b",
    "costs 5 \\*",
    "```py\nx = **a",
    "- x\n\n  ```\n  a ** b",
    "    a ** b *c",
    "| a | b |\n|---|---|\n| 1 | **2 |",
    "word**(x",
    "**" * 9_000,
]


@pytest.mark.parametrize(("cut", "closed"), CLOSED.items())
def test_open_marks_are_closed(cut: str, closed: str) -> None:
    assert close_marks(cut) == closed
    shown = render_block(closed)
    assert not any(mark in shown.replace("2 * 3", "").replace("a*b", "") for mark in ("*", "~~", "](")), shown


@pytest.mark.parametrize("text", LEFT)
def test_what_has_no_open_mark_stays_as_it_is(text: str) -> None:
    assert close_marks(text) == text


def test_of_a_whole_text_the_last_block_is_closed() -> None:
    assert close_text("One *a\n\nTwo *b\n\nThree **c") == "One *a\n\nTwo *b\n\nThree **c**"
    assert close_text("") == ""


def texts(message_id: str, text: str) -> list[Event]:
    return [TextMessageStart(message_id), TextMessageContent(message_id, text), TextMessageEnd(message_id)]


async def blocks(found: Sequence[Event]) -> list[tuple[int, str, int]]:
    renderer = BlockRenderer()
    sent = [block for event in found for block in await renderer.apply(event)]
    return [
        (one.value["index"], one.value["html"], one.value["length"])
        for one in sent
        if isinstance(one, Custom) and one.name == "message.block"
    ]


OPEN, BOLD = '<p dir="auto">Two **b</p>\n', '<p dir="auto">Two <strong>b</strong></p>\n'


@pytest.mark.parametrize(
    "end",
    [
        RunFinished("t", "r", Cancelled()),
        RunError("Failed."),
        Custom("message.cut", {"messageId": "m", "reason": "length"}),
    ],
    ids=["stopped", "failed", "too long"],
)
async def test_the_last_block_comes_again_when_the_answer_turns_out_to_be_cut(end: Event) -> None:
    found = await blocks([*texts("m", "One.\n\nTwo **b"), end])
    assert found[1:] == [(1, OPEN, 7), (1, BOLD, 7)]


@pytest.mark.parametrize(
    "later",
    [[RunFinished("t", "r")], [ToolCallStart("c", "clock", "m"), RunFinished("t", "r", Cancelled())]],
    ids=["whole", "stopped in a tool"],
)
async def test_the_block_of_a_whole_answer_comes_once(later: list[Event]) -> None:
    assert [one[0] for one in await blocks([*texts("m", "One.\n\nTwo **b"), *later])] == [0, 1]


async def test_nothing_comes_again_without_an_open_mark() -> None:
    assert len(await blocks([*texts("m", "Two *b*"), RunFinished("t", "r", Cancelled())])) == 1


async def test_a_stored_answer_that_was_cut_comes_closed() -> None:
    renderer = BlockRenderer()
    cut = await renderer.catch_up("m", "One.\n\nTwo **b", is_open=False, is_cut=True)
    whole = await renderer.catch_up("n", "Two **b", is_open=False)
    assert [one.value["html"] for one in cut if isinstance(one, Custom)][1:] == [BOLD]
    assert [one.value["html"] for one in whole if isinstance(one, Custom)] == [OPEN]
    # The next run's end says nothing of an answer before it.
    later = [RunStarted("t", "r", "1.0"), RunFinished("t", "r", Cancelled())]
    assert [block for event in later for block in await renderer.apply(event)] == []
