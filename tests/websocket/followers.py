"""Followers of a log for tests, with snapshots made by the test."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Position, ThreadLog
from assistant.services.runs.reading.thread_snapshot import Snapshot
from assistant.services.token_bucket import Bucket
from assistant.websocket.follower import Follower, Refresh, Send


async def _never(*_: object) -> Any:
    raise AssertionError("nothing is to be asked for")


async def _no_notice(what: str, number: int) -> None:
    return None


async def _no_details(number: int | None) -> list[Any]:
    return []


def snapshot_of(number: int, seq: int, *, is_end: bool = False, texts: Sequence[str] = ()) -> Snapshot:
    """A snapshot of a run up to an event, in one frame that says so."""
    return Snapshot(
        frames=[f"snapshot {number}-{seq}"],
        head=1,
        encoder=FrameEncoder(run_id="r", thread="t"),
        position=Position(number, seq),
        texts=[(f"m{place}", text) for place, text in enumerate(texts)],
        is_end=is_end,
        open_texts=frozenset(),
        cut_texts=frozenset(),
    )


def follower_of(
    log: ThreadLog,
    send: Send,
    *,
    refresh: Refresh = _never,
    knows_outcomes: bool = True,
    bucket: Bucket | None = None,
) -> Follower:
    """A follower that finds in the log all that it needs, or in the snapshots that it is given.

    With a `bucket` it renders what that allows.
    """
    return Follower(
        thread="t",
        log=log,
        send=send,
        refresh=refresh,
        settle=_never,
        notice=_no_notice if bucket else _never,
        details=_no_details if bucket else _never,
        gate=asyncio.Semaphore(),
        bucket=bucket or Bucket(1, 1.0),
        renders=bucket is not None,
        knows_outcomes=knows_outcomes,
    )
