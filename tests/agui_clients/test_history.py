"""Another answer and changed questions, as clients say them: with the history that they have then."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from assistant.models import Message, Provider
from tests.agui import Frame, text_of
from tests.agui_clients.door import Talk, sent, talking
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def talk(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> AsyncIterator[Talk]:
    """A conversation of two questions, with answers under the client's own ids, as assistant-ui has them."""
    async with talking(uvicorn_server, cast.acme, cast.alice) as talk:
        for number in (1, 2):
            fake_provider.reply(f"a{number}")
            await talk.ask(f"q{number}")
            talk.messages.append({"id": f"optimistic-{number}", "role": "assistant", "content": f"a{number}"})
        yield talk


def changed(talk: Talk, text: str, message_id: str) -> list[Frame]:
    """The history up to the second question, with that changed."""
    return [*talk.messages[:2], {"id": message_id, "role": "user", "content": text}]


async def test_the_same_message_is_answered_again(talk: Talk, fake_provider: FakeProvider) -> None:
    fake_provider.reply("another a2")
    assert text_of(await talk.post(talk.given(messages=talk.messages[:3]))) == "another a2"
    assert sent(fake_provider) == ["q1", "a1", "q2"]
    fake_provider.reply("another a1")
    assert text_of(await talk.post(talk.given(messages=talk.messages[:1]))) == "another a1"
    assert sent(fake_provider) == ["q1"]


@pytest.mark.parametrize("message_id", ["new", "u2"], ids=["under a new id", "under its id"])
async def test_a_changed_question_begins_a_branch(talk: Talk, fake_provider: FakeProvider, message_id: str) -> None:
    fake_provider.reply("a2 of another")
    await talk.post(talk.given(messages=changed(talk, "q2 changed", message_id)))
    assert sent(fake_provider) == ["q1", "a1", "q2 changed"]
    assert await Message.objects.filter(content="q2").aexists()  # the other branch is kept


async def test_a_client_that_goes_on_begins_no_branch(talk: Talk, fake_provider: FakeProvider) -> None:
    await talk.ask("q3")
    assert sent(fake_provider) == ["q1", "a1", "q2", "a2", "q3"]


async def test_a_history_that_ends_with_a_known_result_is_answered_again(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    fake_provider.call("current_time", {})
    fake_provider.reply("Noon.")
    async with talking(uvicorn_server, cast.acme, cast.alice) as talk:
        events = await talk.ask("What time is it?")
        result = next(event for event in events if event["type"] == "TOOL_CALL_RESULT")
        call = {"id": result["toolCallId"], "type": "function", "function": {"name": "current_time", "arguments": "{}"}}
        talk.messages += [
            {"id": "a", "role": "assistant", "toolCalls": [call]},
            {"id": "t", "role": "tool", "toolCallId": call["id"], "content": result["content"]},
        ]
        fake_provider.reply("Still noon.")
        assert text_of(await talk.ask()) == "Still noon."
    assert sent(fake_provider) == ["What time is it?"]
