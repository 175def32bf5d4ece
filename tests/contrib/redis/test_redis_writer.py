"""Rounds of writing: the events of many runs are written together, and a failure affects only its own run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from assistant.contrib.redis import writer as redis_writer
from assistant.contrib.redis.writer import Batch, RedisWriter, WriteRounds
from assistant.services.eventlog.log import Entry
from tests.services.eventlog.test_log import entries


class Unreachable(Exception):
    """Redis cannot be reached."""


class FakeRedis:
    """Receives the rounds: each takes one turn of the event loop, and fails with the errors that a test sets."""

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
def fake_redis() -> FakeRedis:
    return FakeRedis()


@pytest.fixture
def rounds(fake_redis: FakeRedis) -> WriteRounds:
    return WriteRounds(fake_redis.append, lambda failure: isinstance(failure, Unreachable))


async def test_events_written_during_a_round_go_into_the_next(fake_redis: FakeRedis, rounds: WriteRounds) -> None:
    writers = {name: RedisWriter(rounds, name, lambda: None) for name in ("a", "b", "c")}
    for entry in entries(1, 1, 4):
        for writer in writers.values():
            writer.write(entry)
    await writers["a"].flush()
    writers["b"].write(entries(1, 5, 5)[0])
    await asyncio.gather(*(writer.flush() for writer in writers.values()))
    assert [len(batches) for batches in fake_redis.rounds] == [3, 1]
    assert fake_redis.written("b") == entries(1, 1, 5)


@pytest.fixture
def slow_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds a second for every `WriteRounds` that is created afterwards."""
    monkeypatch.setattr(redis_writer, "ROUNDS_PER_SECOND", 2.0)


@pytest.mark.usefixtures("slow_rounds")
async def test_a_burst_is_written_at_once_and_later_events_wait_for_rounds(
    fake_redis: FakeRedis, rounds: WriteRounds
) -> None:
    writer = RedisWriter(rounds, "a", lambda: None)
    for entry in entries(1, 1, 200):
        writer.write(entry)
        for _ in range(3):  # time for a round
            await asyncio.sleep(0)
    at_once = len(fake_redis.rounds)
    await writer.flush()
    assert redis_writer.ROUNDS_BURST <= at_once <= redis_writer.ROUNDS_BURST + 2
    assert len(fake_redis.rounds) <= at_once + 1
    assert fake_redis.written("a") == entries(1, 1, 200)


async def test_a_flush_waits_only_for_events_that_were_written_before_it(
    fake_redis: FakeRedis, rounds: WriteRounds
) -> None:
    writer = RedisWriter(rounds, "a", lambda: None)
    written = 0

    async def keep_writing() -> None:
        nonlocal written
        while True:
            written += 1
            writer.write(entries(1, written, written)[0])
            await asyncio.sleep(0)

    task = asyncio.create_task(keep_writing())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await writer.flush()
    task.cancel()
    assert fake_redis.written("a")[0] == entries(1, 1, 1)[0]


async def test_a_failure_affects_only_its_own_writer(fake_redis: FakeRedis, rounds: WriteRounds) -> None:
    lost: list[str] = []
    fake_redis.fails["b"] = ValueError("fenced")
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
    assert fake_redis.written("b") == entries(1, 1, 1)


async def test_an_outage_fails_all_waiting_writers_at_once(
    fake_redis: FakeRedis, rounds: WriteRounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_writer, "MAX_ENTRIES_PER_ROUND", 1)
    lost: list[str] = []
    fake_redis.fails["a"] = Unreachable()
    writers = [RedisWriter(rounds, name, lambda name=name: lost.append(name)) for name in ("a", "b", "c")]  # type: ignore[misc]
    for writer in writers:
        writer.write(entries(1, 1, 1)[0])
    for writer in writers:
        with pytest.raises(Unreachable):
            await writer.flush()
    assert lost == ["a", "b", "c"]
    assert len(fake_redis.rounds) == 1


async def test_an_unexpected_error_fails_the_writers_instead_of_blocking_them(
    fake_redis: FakeRedis, rounds: WriteRounds
) -> None:
    fake_redis.broken = RuntimeError("a mistake")
    writer = RedisWriter(rounds, "a", lambda: None)
    writer.write(entries(1, 1, 1)[0])
    with pytest.raises(RuntimeError, match="a mistake"):
        await writer.flush()
    fake_redis.broken = None
    other = RedisWriter(rounds, "b", lambda: None)
    other.write(entries(1, 1, 1)[0])
    await other.flush()
