"""A person's decision on a call is yes or no; anything else is no approval."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.client import ChatClient, Decision, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import tool


async def _asked() -> bool:
    return False


@pytest.mark.parametrize("value", [_asked, lambda: False, "no", 1, None])
def test_a_decision_is_yes_or_no(value: Any) -> None:
    with pytest.raises(TypeError, match="approved of a Decision must be True or False"):
        Decision(value)


@pytest.mark.filterwarnings("error")
async def test_a_decision_that_nobody_has_awaited_runs_nothing() -> None:
    paid = []

    @tool(requires_approval=True)
    def pay(amount: int) -> str:
        """Pay an amount."""
        paid.append(amount)
        return "Paid."

    client = ChatClient(model=ScriptedModel([ToolCall("", "pay", '{"amount": 5}'), "Done."]), tools=[pay])
    waiting = await client.call("Pay 5")
    with pytest.raises(TypeError, match="not a coroutine"):
        await client.call(
            history=waiting.messages,
            decisions={call.id: Decision(_asked()) for call in waiting.pending},  # type: ignore[arg-type]
        )
    assert paid == []
    decisions = {call.id: Decision(True) for call in waiting.pending}
    assert (await client.call(history=waiting.messages, decisions=decisions)).text == "Done."
    assert paid == [5]
