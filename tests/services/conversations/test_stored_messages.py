"""The messages of a conversation that are read for a model."""

from __future__ import annotations

import gc
import sys
from dataclasses import FrozenInstanceError, replace
from types import FrameType
from typing import Any

import pytest

from assistant.core.values.messages import ToolCall
from assistant.models import Conversation
from assistant.models import Message as MessageRow
from assistant.services.conversations.stored_messages import (
    MAX_RECENT_MESSAGES,
    recent_messages,
    to_message,
    unsummarised_messages,
)
from tests.base import Cast
from tests.factories import make_conversation, make_message

# The most function calls, and resumptions of generators, for each message that is read.
CALLS_PER_MESSAGE = 2.05


def conversation_of(cast: Cast, places: range, count: int) -> Conversation:
    """A conversation with this message count that has messages only at these positions."""
    talk = make_conversation(cast.alice, cast.support, message_count=count)
    MessageRow.objects.bulk_create(
        MessageRow(conversation=talk, position=place, message_id=f"m{place}", role="user", content=f"Word {place}")
        for place in places
    )
    return talk


def test_the_newest_messages_are_read_oldest_first(cast: Cast) -> None:
    talk = conversation_of(cast, range(MAX_RECENT_MESSAGES + 50), MAX_RECENT_MESSAGES + 50)
    messages = recent_messages(conversation=talk)
    assert [message.id for message in messages] == [f"m{place}" for place in range(50, MAX_RECENT_MESSAGES + 50)]


def test_messages_are_found_by_position_without_sorting_the_conversation(cast: Cast) -> None:
    """The database must not have to sort the whole conversation."""
    talk = conversation_of(cast, range(100), MAX_RECENT_MESSAGES + 50)
    assert [message.id for message in recent_messages(conversation=talk)] == [f"m{place}" for place in range(50, 100)]


def test_summarised_messages_are_not_read(cast: Cast) -> None:
    talk = conversation_of(cast, range(20), 20)
    talk.summarised_to = 15
    for read in (recent_messages, unsummarised_messages):
        assert [message.id for message in read(conversation=talk)] == [f"m{place}" for place in range(15, 20)]


def test_tool_calls_are_read_as_they_were_stored(cast: Cast) -> None:
    talk = make_conversation(cast.alice, cast.support, message_count=1)
    calls = [{"id": "c1", "name": "add", "arguments": '{"a": "é\\u0041"}'}]
    make_message(talk, "assistant", "", tool_calls=calls)
    (message,) = recent_messages(conversation=talk)
    assert message.tool_calls == (ToolCall("c1", "add", '{"a": "é\\u0041"}'),)


@pytest.mark.parametrize("is_partial", [True, False])
def test_messages_are_complete_except_for_their_reasoning(cast: Cast, is_partial: bool) -> None:
    talk = make_conversation(cast.alice, cast.support, message_count=2)
    calls = [{"id": "c1", "name": "add", "arguments": "{}"}]
    rows = [
        make_message(talk, "assistant", "Half", tool_calls=calls, reasoning="Hm", is_partial=is_partial),
        make_message(talk, "tool", "3", tool_call_id="c1"),
    ]
    expected = [replace(to_message(row), reasoning="") for row in rows]
    for read in (recent_messages, unsummarised_messages):
        found = read(conversation=talk)
        assert found == expected and [hash(one) for one in found] == [hash(one) for one in expected]
        assert found[0].is_partial is is_partial and replace(found[0], content="Whole").content == "Whole"
        with pytest.raises(FrozenInstanceError):
            found[0].content = "Another"  # type: ignore[misc]


def test_the_cost_of_reading_a_message_is_bounded(cast: Cast) -> None:
    """Operations are counted, because times are noisy. Hundreds of messages are read for every run."""
    talk = conversation_of(cast, range(MAX_RECENT_MESSAGES), MAX_RECENT_MESSAGES)
    recent_messages(conversation=talk)

    def cost_from(position: int) -> int:
        calls = 0

        def count(frame: FrameType, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        talk.summarised_to = position
        gc.disable()  # callbacks of the collector, such as those of Hypothesis, would be counted
        sys.setprofile(count)
        try:
            assert len(recent_messages(conversation=talk)) == MAX_RECENT_MESSAGES - position
        finally:
            sys.setprofile(None)
            gc.enable()
        return calls

    assert (cost_from(0) - cost_from(MAX_RECENT_MESSAGES - 1)) / (MAX_RECENT_MESSAGES - 1) <= CALLS_PER_MESSAGE
