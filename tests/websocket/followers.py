"""Followers of a log for tests, with snapshots made by the test."""

from __future__ import annotations

import asyncio
from typing import Any

from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Position, ThreadLog
from assistant.services.runs.thread_snapshot import Snapshot
from assistant.websocket.follower import Follower, Refresh, Send


async def _never(*_: object) -> Any:
    raise AssertionError("nothing is to be asked for")


def snapshot_of(number: int, seq: int, *, is_end: bool = False) -> Snapshot:
    """A snapshot of a run up to an event, in one frame that says so."""
    return Snapshot(
        frames=[f"snapshot {number}-{seq}"],
        head=1,
        encoder=FrameEncoder(run_id="r", thread="t"),
        position=Position(number, seq),
        texts=[],
        is_end=is_end,
        open_texts=frozenset(),
    )


def follower_of(log: ThreadLog, send: Send, *, refresh: Refresh = _never, knows_outcomes: bool = True) -> Follower:
    """Return a follower that uses the log and the given snapshots only."""
    return Follower(
        thread="t",
        log=log,
        send=send,
        refresh=refresh,
        settle=_never,
        summary=_never,
        gate=asyncio.Semaphore(),
        renders=False,
        knows_outcomes=knows_outcomes,
    )
