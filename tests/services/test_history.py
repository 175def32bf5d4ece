"""What of a long conversation is read for a model."""

from __future__ import annotations

from assistant.core.messages import ToolCall
from assistant.models import Conversation
from assistant.models import Message as MessageRow
from assistant.services.history import RECENT, recent_messages, unsummarised_messages
from tests.base import Cast
from tests.factories import make_conversation, make_message


def conversation_of(cast: Cast, places: range, count: int) -> Conversation:
    """A conversation that says to be so long, and has the messages at these places alone."""
    talk = make_conversation(cast.alice, cast.support, message_count=count)
    MessageRow.objects.bulk_create(
        MessageRow(conversation=talk, position=place, message_id=f"m{place}", role="user", content=f"Word {place}")
        for place in places
    )
    return talk


def test_the_newest_are_read_oldest_first(cast: Cast) -> None:
    talk = conversation_of(cast, range(RECENT + 50), RECENT + 50)
    messages = recent_messages(conversation=talk)
    assert [message.id for message in messages] == [f"m{place}" for place in range(50, RECENT + 50)]


def test_they_are_found_by_their_places_and_not_as_the_last_of_all(cast: Cast) -> None:
    """What a database would have to sort the whole conversation for is not asked for."""
    talk = conversation_of(cast, range(100), RECENT + 50)
    assert [message.id for message in recent_messages(conversation=talk)] == [f"m{place}" for place in range(50, 100)]


def test_what_a_summary_holds_is_not_read(cast: Cast) -> None:
    talk = conversation_of(cast, range(20), 20)
    talk.summarised_to = 15
    for read in (recent_messages, unsummarised_messages):
        assert [message.id for message in read(conversation=talk)] == [f"m{place}" for place in range(15, 20)]


def test_calls_are_read_as_they_were_made(cast: Cast) -> None:
    talk = make_conversation(cast.alice, cast.support, message_count=1)
    calls = [{"id": "c1", "name": "add", "arguments": '{"a": "é\\u0041"}'}]
    make_message(talk, "assistant", "", tool_calls=calls)
    (message,) = recent_messages(conversation=talk)
    assert message.tool_calls == (ToolCall("c1", "add", '{"a": "é\\u0041"}'),)
