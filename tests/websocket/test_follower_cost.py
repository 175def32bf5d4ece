"""The function calls of a token between the log and a connection. Times are noisy, counts are not."""

from __future__ import annotations

import asyncio
import sys
from types import FrameType

import pytest

from assistant.services.eventlog.log import Entry, Position, ThreadLog
from tests.websocket.followers import follower_of

# Of one event that comes by itself, from the log to the connection; the test's own turns with it.
CALLS_PER_EVENT = 90
EVENTS = 200


@pytest.mark.usefixtures("unrecorded")
async def test_an_event_that_comes_by_itself_costs_few_calls() -> None:
    log, sent, calls = ThreadLog(), list[str](), 0

    async def send(frame: str) -> None:
        sent.append(frame)

    task = asyncio.create_task(follower_of(log, send).follow(Position(1, 0)))
    log.append([Entry(1, 1, "first")])
    await asyncio.sleep(0.01)

    def count(_frame: FrameType, event: str, _what: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        for seq in range(2, EVENTS + 2):
            log.append([Entry(1, seq, "more")])
            while len(sent) < seq:
                await asyncio.sleep(0)
    finally:
        sys.setprofile(None)
        task.cancel()
    print(f"\n{calls / EVENTS:.1f} calls an event")
    assert calls / EVENTS <= CALLS_PER_EVENT
