"""The step at which a run's process died is ended, and marked so that no model is sent it."""

from __future__ import annotations

import pytest

from assistant.core.conversation.cut_step import end_cut_step
from assistant.core.conversation.transcript import Transcript
from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.history_window import repair
from assistant.core.values.messages import Message


def text(message_id: str, said: str, *, is_open: bool = False) -> list[Event]:
    parts = [events.TextMessageStart(message_id, "assistant"), events.TextMessageContent(message_id, said)]
    return parts if is_open else [*parts, events.TextMessageEnd(message_id)]


def call(call_id: str, parent: str) -> list[Event]:
    return [
        events.ToolCallStart(call_id, "pay", parent),
        events.ToolCallArgs(call_id, "{}"),
        events.ToolCallEnd(call_id),
    ]


def result(call_id: str) -> Event:
    return events.ToolCallResult(f"{call_id}-result", call_id, "paid", role="tool")


def told(*made: Event) -> Transcript:
    transcript = Transcript()
    for event in made:
        transcript.apply(event)
    return transcript


def cut(ended: list[Event]) -> list[str]:
    return [one.value["messageId"] for one in ended if isinstance(one, events.Custom)]


def test_a_text_that_was_being_written_is_ended_and_superseded() -> None:
    transcript = told(*text("m1", "Once upon", is_open=True))
    ended = end_cut_step(transcript, ())
    assert [type(one) for one in ended] == [events.TextMessageEnd, events.Custom]
    assert ended[-1].value == {"messageId": "m1", "reason": "superseded"}  # type: ignore[attr-defined]
    assert transcript.messages == (Message("assistant", "Once upon", id="m1", is_partial=True, is_superseded=True),)
    assert repair([Message("user", "Tell me"), *transcript.messages]) == [Message("user", "Tell me")]


def test_a_text_that_looks_whole_is_written_again_too() -> None:
    assert cut(end_cut_step(told(*text("m1", "Once.")), ())) == ["m1"]


def test_steps_whose_calls_have_results_stay() -> None:
    transcript = told(*call("c1", "m1"), result("c1"), *text("m2", "So", is_open=True))
    assert cut(end_cut_step(transcript, ())) == ["m2"]
    assert [one.role for one in repair(transcript.messages)] == ["assistant", "tool"]


def test_a_step_whose_call_has_begun_stays_open() -> None:
    transcript = told(*call("c1", "m1"))
    assert end_cut_step(transcript, {"c1"}) == []
    assert not transcript.messages[0].is_superseded


def test_a_result_that_is_known_is_sent() -> None:
    transcript = told(*call("c1", "m1"), *call("c2", "m1"))
    transcript.record_result("c2", "paid", ("the web",))
    ended = end_cut_step(transcript, {"c1", "c2"})
    assert ended == [result("c2")]
    assert transcript.messages[-1].sources == ("the web",)


@pytest.mark.parametrize("is_open", [True, False])
def test_calls_that_have_not_begun_are_not_run(is_open: bool) -> None:
    made = call("c1", "m1")
    transcript = told(*(made[:-1] if is_open else made))
    ended = end_cut_step(transcript, ())
    assert cut(ended) == ["m1"] and "Not run" in transcript.messages[-1].content
    assert all(one.is_superseded for one in transcript.messages)
    assert not transcript.open_events() and transcript.close("interrupted") == []


def test_a_second_cut_leaves_the_first_as_it_is() -> None:
    transcript = told(*call("c1", "m1"))
    end_cut_step(transcript, ())
    for event in text("m2", "Again", is_open=True):
        transcript.apply(event)
    again = Transcript.from_state(transcript.to_state())
    assert cut(end_cut_step(again, ())) == ["m2"]
    assert all(one.is_superseded for one in again.messages)
