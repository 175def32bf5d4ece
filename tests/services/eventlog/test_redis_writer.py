"""Rounds of writing: what many runs write travels together, and none waits for the others' accidents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from assistant.services.eventlog import redis_writer
from assistant.services.eventlog.log import Entry
from assistant.services.eventlog.redis_writer import Batch, RedisWriter, WriteRounds
from tests.services.eventlog.test_log import entries


class Away(Exception):
    """The other end is not there."""


class Far:
    """Where rounds go: each takes a turn of the event loop, and fails as it is told."""

    def __init__(self) -> None:
        self.rounds: list[list[Batch]] = []
        self.fails: dict[str, Exception] = {}
        self.broken: Exception | None = None

    async def append(self, batches: Sequence[Batch]) -> list[Exception | None]:
        self.rounds.append(list(batches))
        await asyncio.sleep(0)
        if self.broken is not None:
            raise self.broken
        return [self.fails.get(thread) for thread, _ in batches]

    def written(self, thread: str) -> list[Entry]:
        return [entry for batches in self.rounds for name, some in batches if name == thread for entry in some]


@pytest.fixture
def far() -> Far:
    return Far()


@pytest.fixture
def rounds(far: Far) -> WriteRounds:
    return WriteRounds(far.append, lambda failure: isinstance(failure, Away))


async def test_what_is_written_during_a_round_is_the_next_one(far: Far, rounds: WriteRounds) -> None:
    writers = {name: RedisWriter(rounds, name, lambda: None) for name in ("a", "b", "c")}
    for entry in entries(1, 1, 4):
        for writer in writers.values():
            writer.write(entry)
    await writers["a"].flush()
    writers["b"].write(entries(1, 5, 5)[0])
    await asyncio.gather(*(writer.flush() for writer in writers.values()))
    assert [len(batches) for batches in far.rounds] == [3, 1]
    assert far.written("b") == entries(1, 1, 5)


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds a second, for `WriteRounds` that are made after this."""
    monkeypatch.setattr(redis_writer, "ROUNDS_PER_SECOND", 2.0)


@pytest.mark.usefixtures("seldom")
async def test_a_burst_goes_at_once_and_what_follows_it_gathers(far: Far, rounds: WriteRounds) -> None:
    writer = RedisWriter(rounds, "a", lambda: None)
    for entry in entries(1, 1, 200):
        writer.write(entry)
        for _ in range(3):  # time for a round
            await asyncio.sleep(0)
    at_once = len(far.rounds)
    await writer.flush()
    assert redis_writer.ROUNDS_BURST <= at_once <= redis_writer.ROUNDS_BURST + 2
    assert len(far.rounds) <= at_once + 1
    assert far.written("a") == entries(1, 1, 200)


async def test_a_flush_waits_for_what_was_written_before_it_and_not_for_more(far: Far, rounds: WriteRounds) -> None:
    writer = RedisWriter(rounds, "a", lambda: None)
    written = 0

    async def talk() -> None:
        nonlocal written
        while True:
            written += 1
            writer.write(entries(1, written, written)[0])
            await asyncio.sleep(0)

    task = asyncio.create_task(talk())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await writer.flush()
    task.cancel()
    assert far.written("a")[0] == entries(1, 1, 1)[0]


async def test_one_failure_is_its_own_writers_alone(far: Far, rounds: WriteRounds) -> None:
    lost: list[str] = []
    far.fails["b"] = ValueError("fenced")
    writers = {name: RedisWriter(rounds, name, lambda name=name: lost.append(name)) for name in ("a", "b", "c")}  # type: ignore[misc]
    for writer in writers.values():
        writer.write(entries(1, 1, 1)[0])
    await asyncio.gather(writers["a"].flush(), writers["c"].flush())
    with pytest.raises(ValueError, match="fenced"):
        await writers["b"].flush()
    writers["b"].write(entries(1, 2, 2)[0])
    writers["a"].write(entries(1, 2, 2)[0])
    await writers["a"].flush()
    assert lost == ["b"]
    assert far.written("b") == entries(1, 1, 1)


async def test_an_absence_that_was_waited_out_once_is_waited_out_for_all(
    far: Far, rounds: WriteRounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_writer, "MAX_ENTRIES_PER_ROUND", 1)
    lost: list[str] = []
    far.fails["a"] = Away()
    writers = [RedisWriter(rounds, name, lambda name=name: lost.append(name)) for name in ("a", "b", "c")]  # type: ignore[misc]
    for writer in writers:
        writer.write(entries(1, 1, 1)[0])
    for writer in writers:
        with pytest.raises(Away):
            await writer.flush()
    assert lost == ["a", "b", "c"]
    assert len(far.rounds) == 1


async def test_whatever_else_goes_wrong_nobody_waits_for_ever(far: Far, rounds: WriteRounds) -> None:
    far.broken = RuntimeError("a mistake")
    writer = RedisWriter(rounds, "a", lambda: None)
    writer.write(entries(1, 1, 1)[0])
    with pytest.raises(RuntimeError, match="a mistake"):
        await writer.flush()
    far.broken = None
    other = RedisWriter(rounds, "b", lambda: None)
    other.write(entries(1, 1, 1)[0])
    await other.flush()
