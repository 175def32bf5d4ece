"""Sessions: events of one's own, compactions that keep turns whole and can be undone."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.client import ChatClient, Decision, EventStore, InMemoryStore, Message, SessionEvent, ToolCall
from assistant.core.llm.protocol import ModelError
from assistant.providers import ScriptedModel
from assistant.toolkit import tool

LONG = "owls " * 100


@tool(requires_approval=True)
def publish(text: str) -> str:
    """Publish a text."""
    return f"published {text}"


def client(*turns: Any, **options: Any) -> tuple[ChatClient[Any], ScriptedModel]:
    model = ScriptedModel(turns)
    return ChatClient(model=model, store=InMemoryStore(), tools=[publish], **options), model


async def talked(count: int, *more: Any) -> tuple[ChatClient[Any], ScriptedModel]:
    asking, model = client(*[f"answer {number}" for number in range(count)], *more)
    for number in range(count):
        await asking.call(f"question {number} {LONG}", conversation="c1")
    return asking, model


async def test_events_of_ones_own_are_kept_in_order_and_no_model_is_sent_them() -> None:
    asking, model = client("Noted.", "Bye.")
    session = asking.session("c1")
    await asking.call("Hi", conversation="c1")
    await session.add("order_placed", {"number": 7})
    await asking.call("Bye", conversation="c1")
    assert [event.kind for event in await session.events()] == [
        "message",
        "message",
        "order_placed",
        "message",
        "message",
    ]
    (placed,) = await session.events("order_placed")
    assert placed.value == {"number": 7} and placed.at.tzinfo is not None
    assert "order_placed" not in str(model.requests[1].messages)
    assert [message.content for message in await session.messages()] == ["Hi", "Noted.", "Bye", "Bye."]


@pytest.mark.parametrize(
    ("kind", "value", "error"),
    [
        ("message", 1, ValueError),
        ("compacted", 1, ValueError),
        ("", 1, ValueError),
        ("x" * 65, 1, ValueError),
        ("note", "x" * 100_001, ValueError),
        ("note", object(), TypeError),
    ],
)
async def test_what_is_no_event(kind: str, value: Any, error: type[Exception]) -> None:
    asking, _ = client()
    with pytest.raises(error):
        await asking.session("c1").add(kind, value)


async def test_a_compaction_keeps_turns_whole_and_can_be_undone() -> None:
    asking, model = await talked(6, "They talked of owls.", "after", "all of it")
    session = asking.session("c1")
    before = await session.messages()
    assert await session.compact(tokens=500)
    summary, *kept = await session.messages()
    assert "They talked of owls." in summary.content and summary.role == "system"
    assert kept == before[-len(kept) :] and kept[0].role == "user"
    await asking.call("And now?", conversation="c1")
    sent = str(model.requests[-1].messages)
    assert "They talked of owls." in sent and "question 0" not in sent
    assert await session.undo_compaction()
    assert [message.content for message in await session.messages()][:12] == [message.content for message in before]
    await asking.call("All?", conversation="c1")
    assert "question 0" in str(model.requests[-1].messages)
    assert not await session.undo_compaction()


async def test_a_compaction_of_a_compaction_is_undone_first() -> None:
    asking, _ = await talked(6, "first summary", *[f"answer {number}" for number in range(6)], "second summary")
    session = asking.session("c1")
    await session.compact(tokens=500)
    once = await session.messages()
    for number in range(6):
        await asking.call(f"later {number} {LONG}", conversation="c1")
    assert await session.compact(tokens=500)
    assert "second summary" in (await session.messages())[0].content
    await session.undo_compaction()
    assert list(once) == list(await session.messages())[: len(once)]


async def test_calls_and_their_results_stay_together_and_a_waiting_call_stays() -> None:
    asking, _ = await talked(4, ToolCall("", "publish", '{"text": "owls"}'), "They talked.", "It is out.")
    waiting = await asking.call(f"Publish it {LONG}", conversation="c1")
    assert waiting.needs_approval and await asking.session("c1").compact(tokens=200)
    decisions = {call.id: Decision(approved=True) for call in waiting.pending}
    assert (await asking.call(conversation="c1", decisions=decisions)).text == "It is out."


async def test_short_conversations_and_single_turns_stay() -> None:
    asking, _ = await talked(1)
    assert not await asking.session("c1").compact(tokens=100_000)
    assert not await asking.session("c1").compact(tokens=10)


async def test_a_summary_that_fails_changes_nothing() -> None:
    asking, _ = await talked(4, ModelError("down"))
    session = asking.session("c1")
    before = await session.messages()
    with pytest.raises(ModelError):
        await session.compact(tokens=500)
    assert await session.messages() == before


async def test_sessions_need_a_store_of_events() -> None:
    with pytest.raises(ValueError, match="EventStore"):
        ChatClient(model=ScriptedModel("ok")).session("c1")


class ListStore(EventStore):
    """A store of one's own, with sync methods."""

    def __init__(self) -> None:
        self.kept: dict[str, list[SessionEvent]] = {}

    def read(self, key: str) -> list[SessionEvent]:
        return self.kept.get(key, [])

    def write(self, key: str, events: Any) -> None:
        self.kept.setdefault(key, []).extend(events)


async def test_a_store_of_ones_own_has_two_methods() -> None:
    model = ScriptedModel(["Hello.", "Bob."])
    asking = ChatClient(model=model, store=ListStore())
    await asking.call("I am Bob.", conversation="c1")
    await asking.session("c1").add("seen")
    assert (await asking.call("Who am I?", conversation="c1")).text == "Bob."
    assert [one.content for one in model.requests[1].messages] == ["I am Bob.", "Hello.", "Who am I?"]


async def test_a_message_is_the_same_after_it_was_stored() -> None:
    store = InMemoryStore()
    message = Message("assistant", "Hi", tool_calls=(ToolCall("c", "x", "{}"),), provider_state="s", sources=("a",))
    asking = ChatClient(model=ScriptedModel(["ok"]), store=store)
    await asking.call([Message("user", "Hi"), message, Message("tool", "r", tool_call_id="c")], conversation="c1")
    stored = (await asking.session("c1").messages())[1]
    assert stored == message and stored.provider_state == "s"
