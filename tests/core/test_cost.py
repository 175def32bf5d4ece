"""The hot path's cost as a count of operations, since times are noisy."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from types import FrameType
from typing import Any

from assistant.client import ChatClient
from assistant.core.messages import Reply
from assistant.core.model import Delta, ModelRequest, TextDelta

# Calls of Python functions, and resumptions of generators, that one streamed delta may cost on its way to a caller.
CALLS_PER_DELTA = 10


class Flood:
    """A model that has its whole answer at once."""

    name = provider = "flood"

    def __init__(self, tokens: int) -> None:
        self._deltas = [TextDelta("word ")] * tokens

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        for delta in self._deltas:
            yield delta
        yield Reply(text="word " * len(self._deltas))


async def calls_of_a_turn(tokens: int) -> int:
    client, calls = ChatClient(model=Flood(tokens)), 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        await client.call("Go")
    finally:
        sys.setprofile(None)
    return calls


async def test_a_delta_costs_a_handful_of_calls() -> None:
    await calls_of_a_turn(10)
    few, many = await calls_of_a_turn(100), await calls_of_a_turn(1100)
    assert (many - few) / 1000 <= CALLS_PER_DELTA
