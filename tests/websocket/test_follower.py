"""A follower sends each event once, in order, at its connection's pace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from assistant.services.eventlog.log import Entry, Position, ThreadLog
from assistant.services.runs.reading.thread_snapshot import Snapshot
from assistant.websocket import follower as readers
from assistant.websocket.follower import Refresh, Send
from tests.websocket.followers import follower_of, snapshot_of

# These frames are no events, which clients would verify.
pytestmark = pytest.mark.usefixtures("unrecorded")

START = Position(1, 0)
END = '{"type":"RUN_FINISHED"}'


@asynccontextmanager
async def following(
    log: ThreadLog,
    send: Send,
    position: Position | None = START,
    **options: Any,
) -> AsyncIterator[asyncio.Task[None]]:
    """Start a follower that has reached the end of the log; for options see `follower_of`."""
    follower = follower_of(log, send, **options)
    task = asyncio.create_task(follower.follow(position))
    await asyncio.sleep(0.01)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def entries(first: int, *frames: str, number: int = 1) -> list[Entry]:
    return [Entry(number, first + place, frame) for place, frame in enumerate(frames)]


async def test_events_are_sent_in_order_as_they_come() -> None:
    log, sent = ThreadLog(), []

    async def send(frame: str) -> None:
        sent.append(frame)

    log.append(entries(1, "a"))
    async with following(log, send):
        assert sent == ["a"]
        log.append(entries(2, "b", "c"))
        log.append(entries(4, "d"))
        await asyncio.sleep(0.01)
        assert sent == ["a", "b", "c", "d"]


async def test_the_end_of_a_run_and_the_next_run_follow_in_order() -> None:
    log, sent = ThreadLog(), []

    async def send(frame: str) -> None:
        sent.append(frame)

    log.append(entries(1, "a"))
    async with following(log, send):
        log.append(entries(2, "b"))
        log.append(entries(3, END))
        log.append(entries(1, "c", "d", number=2))
        await asyncio.sleep(0.01)
        log.append(entries(3, "e", number=2))
        await asyncio.sleep(0.01)
        assert sent == ["a", "b", END, "c", "d", "e"]


async def test_an_outcome_respects_the_protocol_version() -> None:
    log, sent = ThreadLog(), []

    async def send(frame: str) -> None:
        sent.append(frame)

    log.append(entries(1, "a"))
    async with following(log, send, knows_outcomes=False):
        log.append(entries(2, '{"type":"RUN_FINISHED","outcome":{"type":"cancelled"}}'))
        await asyncio.sleep(0.01)
        assert sent == ["a", END]


async def test_a_slow_reader_blocks_nobody_and_misses_nothing() -> None:
    log, sent, room = ThreadLog(), [], asyncio.Event()

    async def send(frame: str) -> None:
        if frame != "a":
            await room.wait()
            await asyncio.sleep(0)
        sent.append(frame)

    log.append(entries(1, "a"))
    async with following(log, send):
        log.append(entries(2, "b", "c"))
        log.append(entries(4, "d"))
        await asyncio.sleep(0.01)
        assert sent == ["a"]
        room.set()
        await asyncio.sleep(0.01)
        assert sent == ["a", "b", "c", "d"]
        log.append(entries(5, "e"))
        await asyncio.sleep(0.01)
        assert sent == ["a", "b", "c", "d", "e"]


async def test_a_connection_that_breaks_ends_its_reader_and_not_the_writer() -> None:
    log = ThreadLog()

    async def send(frame: str) -> None:
        if frame == "b":
            raise ConnectionError("gone")

    log.append(entries(1, "a"))
    async with following(log, send) as task:
        log.append(entries(2, "b"))
        log.append(entries(3, "c"))
        with pytest.raises(ConnectionError, match="gone"):
            await task


async def test_a_reader_behind_the_log_gets_the_rest_in_order() -> None:
    log, sent = ThreadLog(), []

    async def send(frame: str) -> None:
        sent.append(frame)
        await asyncio.sleep(0)

    log.append(entries(1, "a", "b", "c"))
    async with following(log, send, Position(1, 1)):
        log.append(entries(4, "d"))
        log.append(entries(4, "d"))
        await asyncio.sleep(0.01)
        assert sent == ["b", "c", "d"]


def given(*snapshots: Snapshot) -> Refresh:
    """Return these snapshots, one per call."""
    left = iter(snapshots)

    async def refresh() -> Snapshot:
        return next(left)

    return refresh


async def until(sent: list[str], frame: str) -> None:
    async with asyncio.timeout(20):
        while frame not in sent:
            await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("position", "seen"), [(START, ["a", "b", "c", "d"]), (None, ["snapshot 1-3"])], ids=["seen", "new"]
)
async def test_lost_events_are_replaced_by_a_new_enough_snapshot(
    monkeypatch: pytest.MonkeyPatch, position: Position | None, seen: list[str]
) -> None:
    monkeypatch.setattr(readers, "SNAPSHOT_RETRY_SECONDS", 0.001)
    log, sent = ThreadLog(), []

    async def send(frame: str) -> None:
        sent.append(frame)

    before = [snapshot_of(1, 3)] * (3 if position else 4)
    log.append(entries(1, "a", "b", "c", "d") if position else entries(7, "g"))
    async with following(log, send, position, refresh=given(*before, snapshot_of(1, 7), snapshot_of(1, 7))):
        log.append(entries(7, "g"))
        await until(sent, "snapshot 1-7")
        log.append(entries(8, "h"))
        await until(sent, "h")
    assert sent == [*seen, "snapshot 1-7", "h"]


async def test_no_event_of_a_run_is_sent_after_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "SNAPSHOT_RETRY_SECONDS", 0.001)
    log, sent = ThreadLog(), []

    async def send(frame: str) -> None:
        sent.append(frame)

    log.append(entries(1, "a", "b", "c", "d"))
    snapshots = given(snapshot_of(1, 3, is_end=True), snapshot_of(2, 1))
    async with following(log, send, refresh=snapshots):
        log.append(entries(7, "g"))
        await until(sent, "snapshot 1-3")
        await asyncio.sleep(0.02)  # many times as long as a snapshot that lacks something would stand
        assert sent[-1] == "snapshot 1-3"
        log.append(entries(1, "i", number=2))
        await until(sent, "snapshot 2-1")
        log.append(entries(2, "j", number=2))
        await until(sent, "j")
    assert sent == ["a", "b", "c", "d", "snapshot 1-3", "snapshot 2-1", "j"]


async def test_a_send_is_in_the_readers_context_and_not_the_writers() -> None:
    whose: ContextVar[str] = ContextVar("whose")
    log, seen = ThreadLog(), []

    async def send(frame: str) -> None:
        seen.append(whose.get())

    log.append(entries(1, "a"))
    whose.set("reader")
    async with following(log, send):
        whose.set("writer")
        log.append(entries(2, "b"))
        await asyncio.sleep(0.01)
        assert seen == ["reader", "reader"]
