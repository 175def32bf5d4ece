from __future__ import annotations

import pytest

from assistant.client import ChatClient
from assistant.core.memory import CLEARED, clear_results, estimate
from assistant.core.messages import Message, ToolCall
from assistant.core.model import ModelError
from assistant.core.scripted import ScriptedModel
from assistant.core.summarising import HEADING, summarise
from tests.core.playing import check_history, play
from tools import tool

LONG = [
    Message("system", "Be kind."),
    Message("user", "My number is 42. " + "x" * 400),
    Message("assistant", "", tool_calls=(ToolCall("c1", "get_customer", '{"number":42}'),)),
    Message("tool", "Bob " + "y" * 400, tool_call_id="c1"),
    Message("assistant", "You are Bob."),
    Message("user", "And my orders?"),
]


async def test_the_older_part_becomes_a_summary() -> None:
    model = ScriptedModel(["The user is Bob, customer 42."])
    short = await summarise(model, LONG, tokens=100)
    assert [m.content for m in short] == ["Be kind.", f"{HEADING}The user is Bob, customer 42.", "And my orders?"]
    assert "get_customer" in model.requests[0].messages[1].content


async def test_a_short_conversation_is_left_alone() -> None:
    assert await summarise(ScriptedModel([]), LONG, tokens=10_000) == LONG


async def test_a_later_summary_takes_the_earlier_one_in() -> None:
    model = ScriptedModel(["First.", "Second."])
    short = await summarise(model, LONG, tokens=100)
    longer = [*short, Message("assistant", "z" * 400), Message("user", "Go on")]
    assert [m.content for m in await summarise(model, longer, tokens=100)] == ["Be kind.", f"{HEADING}Second.", "Go on"]
    assert "First." in model.requests[1].messages[1].content


async def test_without_a_summary_nothing_is_lost() -> None:
    with pytest.raises(ModelError):
        await summarise(ScriptedModel([ModelError("Down.")]), LONG, tokens=100)


async def test_a_client_goes_on_from_a_compacted_history() -> None:
    model = ScriptedModel(["Bob, 42.", "Three orders."])
    client = ChatClient(model=model, system="Be kind.")
    history = await client.compact(LONG[1:], tokens=100)
    await client.call(history=history)
    assert [m.role for m in model.requests[1].messages] == ["system", "system", "user"]


def test_old_results_are_cleared_before_anything_is_dropped() -> None:
    rounds = [
        message
        for n in range(5)
        for message in (
            Message("assistant", "", tool_calls=(ToolCall(str(n), "read", "{}"),)),
            Message("tool", f"{n}" * 800, tool_call_id=str(n)),
        )
    ]
    messages = [Message("user", "Read all"), *rounds]
    cleared = clear_results(messages, tokens=sum(map(estimate, messages)) - 300)
    assert [m.content == CLEARED for m in cleared if m.role == "tool"] == [True, True, False, False, False]
    assert [m.content == CLEARED for m in clear_results(messages, tokens=1) if m.role == "tool"][3:] == [False, False]
    check_history(cleared)


async def test_a_long_run_never_sends_more_than_its_room() -> None:
    @tool
    async def read(page: int) -> str:
        """Read a page."""
        return f"{page} " * 400

    calls = [ToolCall("", "read", f'{{"page":{n}}}') for n in range(12)]
    played = await play([*calls, "Read."], read, history_tokens=900)
    for request in played.model.requests:
        assert sum(map(estimate, request.messages)) <= 900
        assert request.messages[0].content == "Hello"
        check_history(request.messages)
