"""The ids of a message's parts: AG-UI starts each of them once in a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.protocol import ReasoningDelta
from assistant.core.values.events import (
    CalledTool,
    CallMetadata,
    ReasoningStart,
    TextMessageContent,
    TextMessageStart,
    ToolCallStart,
)
from assistant.core.values.messages import Message, ToolCall
from assistant.toolkit import tool
from tests.core.scripted_turns import TurnResult, run_script


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = ToolCall("call_1", "add", '{"a":1,"b":2}')
ADD_MORE = ToolCall("call_2", "add", '{"a":3,"b":4}')


def ids_of(turn: TurnResult, kind: type[TextMessageStart] | type[ReasoningStart]) -> list[str]:
    return [event.message_id for event in turn.events if isinstance(event, kind)]


async def test_text_after_a_call_has_an_id_of_its_own_and_is_of_the_same_message() -> None:
    turn = await run_script([["I look. ", ADD, "Now ", "this. ", ADD_MORE, "Both."], "It is 3."], add)
    first, last = turn.messages[0], turn.messages[-1]
    assert ids_of(turn, TextMessageStart) == [first.id, f"{first.id}-part2", f"{first.id}-part3", last.id]
    assert (first.content, len(first.tool_calls)) == ("I look. Now this. Both.", 2)
    assert [message.role for message in turn.messages] == ["assistant", "tool", "tool", "assistant"]
    # What the model is asked with next.
    assert turn.model.requests[1].messages[1].content == "I look. Now this. Both."


async def test_a_call_begins_with_the_title_of_its_tool() -> None:
    titled = replace(add, title="Add up")
    turn = await run_script([[ADD, ToolCall("call_2", "unknown", "{}")], "It is 3."], titled)
    starts = [event for event in turn.events if isinstance(event, ToolCallStart)]
    assert [start.metadata for start in starts] == [CallMetadata(CalledTool("Add up")), None]
    assert starts[0].tool_call_name == "add"


async def test_reasoning_after_a_call_has_an_id_of_its_own_and_is_of_the_same_message() -> None:
    turn = await run_script([[ReasoningDelta("Hm. "), ADD, ReasoningDelta("And so."), "Well. "], "It is 3."], add)
    first = turn.messages[0]
    assert ids_of(turn, ReasoningStart) == [f"{first.id}-reasoning", f"{first.id}-reasoning-part2"]
    assert (first.reasoning, first.content) == ("Hm. And so.", "Well. ")


@pytest.mark.parametrize("restored", [False, True])
async def test_a_part_that_is_cut_off_cuts_its_message(*, restored: bool) -> None:
    turn = await run_script([["One. ", ADD, "Two. ", ADD_MORE], "It is 3."], add)
    first = turn.messages[0]
    cut = next(
        number
        for number, event in enumerate(turn.events)
        if isinstance(event, TextMessageContent) and event.message_id == f"{first.id}-part2"
    )
    transcript = Transcript()
    for event in turn.events[: cut + 1]:
        transcript.apply(event)
    if restored:
        transcript = Transcript.from_state(transcript.to_state())
    transcript.apply(TextMessageContent(f"{first.id}-part2", "And"))
    transcript.close("interrupted")
    message: Message = transcript.messages[0]
    assert (message.id, message.content, message.is_partial) == (first.id, "One. Two. And", True)
    assert transcript.open_events() == []
