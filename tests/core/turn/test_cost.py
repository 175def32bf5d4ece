"""The cost of streaming and of tool rounds as numbers of function calls, since times are noisy."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator
from types import FrameType
from typing import Any

from assistant.client import ChatClient
from assistant.core.llm.protocol import Delta, Model, ModelRequest, TextDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import tool

# Calls of Python functions, and resumptions of generators, for one streamed delta on its way to a caller.
CALLS_PER_DELTA = 10
# Calls for a whole round in which the model calls one tool. It takes 700, of which 70 are for the tool's own task; the
# rest allows for logs and spans that other tests of the process may have switched on.
CALLS_PER_ROUND = 880
# Calls that each message of the history adds to a round; two of them are for the token counts of the scripted model.
CALLS_PER_MESSAGE = 2.1


@tool
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


class Flood:
    """A model that sends its whole answer at once."""

    name = provider = "flood"

    def __init__(self, tokens: int) -> None:
        self._deltas = [TextDelta("word ")] * tokens

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        for delta in self._deltas:
            yield delta
        yield Reply(text="word " * len(self._deltas))


async def calls_of_a_turn(model: Model, history: int = 0) -> int:
    """Count the function calls of a turn after this many messages."""
    said = [Message("assistant" if place % 2 else "user", "Some words", id=f"m{place}") for place in range(history)]
    client, calls = ChatClient(model=model, tools=[add]), 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    gc.disable()  # what listens to its passes, as Hypothesis does, would be counted
    sys.setprofile(count)
    try:
        await client.call("Go", history=said)
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


async def test_a_delta_costs_a_handful_of_calls() -> None:
    await calls_of_a_turn(Flood(10))
    few, many = await calls_of_a_turn(Flood(100)), await calls_of_a_turn(Flood(1100))
    assert (many - few) / 1000 <= CALLS_PER_DELTA


def rounds(count: int) -> ScriptedModel:
    """A model that calls one tool this many times, one after the other."""
    calls = [ToolCall(f"call_{number}", "add", f'{{"a": {number}, "b": 2}}') for number in range(count)]
    return ScriptedModel([*calls, "Done."])


async def test_a_tool_round_costs_a_bounded_number_of_calls() -> None:
    await calls_of_a_turn(rounds(1))
    few, many = await calls_of_a_turn(rounds(1)), await calls_of_a_turn(rounds(9))
    assert (many - few) / 8 <= CALLS_PER_ROUND


async def test_a_history_is_not_worked_through_again_with_every_round() -> None:
    await calls_of_a_turn(rounds(1))
    short = await calls_of_a_turn(rounds(9)) - await calls_of_a_turn(rounds(1))
    long = await calls_of_a_turn(rounds(9), history=400) - await calls_of_a_turn(rounds(1), history=400)
    assert (long - short) / (8 * 400) <= CALLS_PER_MESSAGE
