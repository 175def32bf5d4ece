from __future__ import annotations

import json
from contextlib import aclosing

import pytest

from assistant.core.conversation.agui_messages import to_agui
from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import cut_message
from assistant.core.llm.protocol import ReasoningDelta, ToolCallDelta
from assistant.core.turn.loop import run_turn
from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.messages import Message, ToolCall, Usage
from assistant.testing.scripted import Turn
from assistant.toolkit import tool
from tests.core.scripted_turns import plan_for


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


SCRIPT: list[Turn] = [
    [
        ReasoningDelta("Hm"),
        "Let me see. ",
        ToolCallDelta(0, "c1", "add", '{"a":1,'),
        ToolCallDelta(0, arguments='"b":2}'),
    ],
    [ReasoningDelta("So"), "It is ", "three."],
]


async def whole_run() -> tuple[list[Event], Transcript]:
    transcript = Transcript()
    async with aclosing(run_turn(plan_for(SCRIPT, add), transcript)) as turn:
        return [event async for event in turn], transcript


async def test_the_same_events_give_the_same_messages() -> None:
    told, transcript = await whole_run()
    rebuilt = Transcript()
    for event in told:
        rebuilt.apply(event)
    assert rebuilt.messages == transcript.messages
    assert [m.role for m in rebuilt.messages] == ["assistant", "tool", "assistant"]


async def test_reading_the_messages_does_not_change_the_transcript() -> None:
    told, transcript = await whole_run()
    for looked_at in range(len(told)):
        watched = Transcript()
        for place, event in enumerate(told):
            watched.apply(event)
            if place == looked_at:
                assert len(watched.messages) <= len(transcript.messages)
        assert watched.messages == transcript.messages


async def test_a_transcript_restored_after_any_event_continues_identically() -> None:
    told, transcript = await whole_run()
    for cut in range(len(told) + 1):
        first = Transcript()
        for event in told[:cut]:
            first.apply(event)
        second = Transcript.from_state(json.loads(json.dumps(first.to_state())))
        assert (second.messages, second.open_events()) == (first.messages, first.open_events())
        for event in told[cut:]:
            second.apply(event)
        assert second.messages == transcript.messages


async def test_closing_after_any_event_leaves_nothing_open_and_every_call_answered() -> None:
    told, _ = await whole_run()
    for cut in range(len(told) + 1):
        transcript = Transcript()
        for event in told[:cut]:
            transcript.apply(event)
        transcript.close("interrupted")
        assert transcript.open_events() == []
        assert transcript.close("interrupted") == []
        calls = [call.id for m in transcript.messages for call in m.tool_calls]
        assert calls == [m.tool_call_id for m in transcript.messages if m.role == "tool"]


def test_what_is_open_is_partial_and_can_be_reopened_with_the_same_id() -> None:
    transcript = Transcript()
    transcript.apply(events.TextMessageStart("m1", "assistant"))
    transcript.apply(events.TextMessageContent("m1", "Hal"))
    assert transcript.messages == (Message("assistant", "Hal", id="m1", is_partial=True),)
    assert transcript.open_events() == [events.TextMessageStart("m1", "assistant")]
    transcript.apply(events.TextMessageEnd("m1"))
    assert not transcript.messages[0].is_partial


def test_what_was_cut_off_stays_partial() -> None:
    transcript = Transcript()
    transcript.apply(events.TextMessageStart("m1", "assistant"))
    transcript.apply(events.TextMessageContent("m1", "Hal"))
    transcript.close("cancelled")
    again = Transcript.from_state(transcript.to_state())
    assert transcript.messages[0].is_partial and again.messages[0].is_partial


def test_why_an_answer_was_cut_is_kept_and_told() -> None:
    transcript = Transcript()
    for event in (
        events.TextMessageStart("m1", "assistant"),
        events.TextMessageContent("m1", "Hal"),
        events.TextMessageEnd("m1"),
        cut_message("m1", "length"),
    ):
        transcript.apply(event)
    again = Transcript.from_state(transcript.to_state())
    (told,) = to_agui(again.messages)
    assert told["metadata"] == {"partial": True, "cutReason": "length"}


def test_open_parts_are_closed_from_the_inside_out() -> None:
    transcript = Transcript()
    transcript.apply(events.ReasoningStart("m1-reasoning"))
    transcript.apply(events.ReasoningMessageStart("m1-reasoning", "reasoning"))
    transcript.apply(events.ToolCallStart("c1", "add", "m1"))
    assert [event.type for event in transcript.close("cancelled")] == [
        "TOOL_CALL_END",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TOOL_CALL_RESULT",
    ]


@pytest.mark.parametrize("reason", ["cancelled", "interrupted", "error", "limit"])
def test_an_open_call_gets_a_result_that_says_why_it_has_none(reason: str) -> None:
    transcript = Transcript()
    transcript.apply(events.ToolCallStart("c1", "add", "m1"))
    transcript.close(reason)  # type: ignore[arg-type]
    assert transcript.messages[-1].content


def test_incomplete_arguments_are_completed_with_the_marker() -> None:
    transcript = Transcript()
    transcript.apply(events.SubagentStarted("s1", "Research"))
    for call_id, asked in (("c1", None), ("c2", "s1")):
        transcript.apply(events.ToolCallStart(call_id, "add", "m1", subagent_run_id=asked))
        transcript.apply(events.ToolCallArgs(call_id, f'{{"{call_id}":[1', subagent_run_id=asked))
    told = [event for event in transcript.close("cancelled") if isinstance(event, events.ToolCallArgs)]
    assert [(one.tool_call_id, one.subagent_run_id) for one in told] == [("c2", "s1"), ("c1", None)]
    assert [json.loads(f'{{"{one.tool_call_id}":[1{one.delta}') for one in told] == [{"c2": [1, ""]}, {"c1": [1, ""]}]


def test_a_recorded_result_is_sent_on_close() -> None:
    transcript = Transcript()
    transcript.apply(events.ToolCallStart("c1", "add", "m1"))
    transcript.record_result("c1", "3")
    again = Transcript.from_state(transcript.to_state())
    again.close("cancelled")
    assert again.messages[-1].content == "3"


def test_calls_of_an_earlier_run_are_closed_too() -> None:
    transcript = Transcript()
    transcript.expect_results([ToolCall("c0", "add", "{}")])
    again = Transcript.from_state(transcript.to_state())
    again.close("interrupted")
    assert [m.tool_call_id for m in again.messages] == ["c0"]


def test_messages_of_a_sub_agent_are_not_part_of_the_conversation() -> None:
    transcript = Transcript()
    transcript.apply(events.SubagentStarted("s1", "Research"))
    transcript.apply(events.TextMessageStart("m9", "assistant", subagent_run_id="s1"))
    transcript.apply(events.TextMessageContent("m9", "psst", subagent_run_id="s1"))
    assert transcript.messages == ()
    assert [event.type for event in transcript.close("cancelled")] == ["TEXT_MESSAGE_END", "SUBAGENT_ERROR"]


def test_usage_is_counted_by_model() -> None:
    transcript = Transcript()
    for model in ("a", "b", "a"):
        transcript.add_usage("p", model, Usage(10, 1))
    again = Transcript.from_state(transcript.to_state())
    assert [(u.model, u.input_tokens, u.total_tokens) for u in again.token_usage()] == [("a", 20, 22), ("b", 10, 11)]


def test_messages_are_converted_to_ag_uis_form() -> None:
    messages = [
        Message("system", "Secret", id="s"),
        Message("user", "Hi", id="u"),
        Message("assistant", "", id="a", reasoning="Hm", tool_calls=(ToolCall("c", "add", "{}"),)),
        Message("tool", "3", id="r", tool_call_id="c"),
        Message("assistant", "Thr", id="b", is_partial=True),
    ]
    assert to_agui(messages) == [
        {"id": "u", "role": "user", "content": "Hi"},
        {"id": "a-reasoning", "role": "reasoning", "content": "Hm"},
        {
            "id": "a",
            "role": "assistant",
            "toolCalls": [{"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
        },
        {"id": "r", "role": "tool", "content": "3", "toolCallId": "c"},
        {"id": "b", "role": "assistant", "content": "Thr", "metadata": {"partial": True}},
    ]
