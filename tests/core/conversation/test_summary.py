from __future__ import annotations

import pytest

from assistant.client import ChatClient
from assistant.core.conversation.summary import summarise
from assistant.core.llm.protocol import ModelError
from assistant.core.values.history_window import CLEARED, clear_results, estimate
from assistant.core.values.messages import Message, Reply, ToolCall, Usage
from assistant.core.values.untrusted import HEADING
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import tool
from tests.core.scripted_turns import check_history, run_script

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


async def test_a_failed_summary_loses_nothing() -> None:
    with pytest.raises(ModelError):
        await summarise(ScriptedModel([ModelError("Down.")]), LONG, tokens=100)


async def test_no_request_for_a_summary_exceeds_the_limit() -> None:
    long = [Message("user" if n % 2 == 0 else "assistant", f"{n}: " + "wool " * 200) for n in range(20)]
    model = ScriptedModel(f"Summary {n}." for n in range(20))
    short = await summarise(model, [*long, Message("user", "baa " * 9000), Message("user", "Go on")], tokens=1_500)
    assert short[0].content == f"{HEADING}Summary {len(model.requests) - 1}."
    for number, request in enumerate(model.requests):
        assert estimate(request.messages[1]) < 1_600
        assert number == 0 or f"Summary {number - 1}." in request.messages[1].content


async def test_the_usage_of_summaries_is_reported_even_of_one_that_failed() -> None:
    spent: list[tuple[str, Usage]] = []

    def spend(name: str, usage: Usage) -> None:
        spent.append((name, usage))

    await summarise(ScriptedModel([Reply("Bob.", usage=Usage(70, 3), model="small")]), LONG, tokens=100, on_usage=spend)
    for turn in (["Half of it", ModelError("Down.")], ModelError("No key."), Reply(" ", usage=Usage(5, 1))):
        with pytest.raises(ModelError):
            await summarise(ScriptedModel([turn]), LONG, tokens=100, on_usage=spend)
    assert [(name, usage.output_tokens, usage.is_estimated) for name, usage in spent] == [
        ("small", 3, False),
        ("scripted", 3, True),
        ("scripted", 1, False),
    ]


async def test_a_client_continues_from_a_compacted_history() -> None:
    model = ScriptedModel(["Bob, 42.", "Three orders."])
    client = ChatClient(model=model, system="Be kind.")
    history = await client.compact(LONG[1:], tokens=100)
    await client.call(history=history)
    assert [m.role for m in model.requests[1].messages] == ["system", "user"]
    assert "Bob, 42." in model.requests[1].messages[1].content


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


async def test_a_long_run_never_exceeds_its_token_limit() -> None:
    @tool
    async def read(page: int) -> str:
        """Read a page."""
        return f"{page} " * 400

    calls = [ToolCall("", "read", f'{{"page":{n}}}') for n in range(12)]
    turn = await run_script([*calls, "Read."], read, history_tokens=900)
    for request in turn.model.requests:
        assert sum(map(estimate, request.messages)) <= 900
        assert request.messages[0].content == "Hello"
        check_history(request.messages)
