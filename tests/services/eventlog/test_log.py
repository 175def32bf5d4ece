"""The event log in memory, with files, and on Redis: the same guarantees for all."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis

from assistant.services.eventlog import log as eventlog
from assistant.services.eventlog import memory
from assistant.services.eventlog.log import CHANGES, Entry, EventLog, Fenced, Position, ThreadLog
from assistant.services.eventlog.memory import MemoryLog
from tests.file_log import WINDOW_BYTES, FileLog, file
from tests.line import Line
from tests.redis_log import MARK_KEY, READERS, STREAM, Batch, RedisLog, redis, redis_watch, redis_writer

REDIS_URL = os.environ.get("TEST_REDIS_URL", "")


def entries(number: int, first: int, last: int) -> list[Entry]:
    return [Entry(number, seq, f'{{"seq":{seq}}}') for seq in range(first, last + 1)]


@pytest.fixture(params=["memory", "files", *(["redis"] if REDIS_URL else [])])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventLog]:
    if request.param != "redis":
        yield MemoryLog() if request.param == "memory" else FileLog(tmp_path)
        return
    made = RedisLog(REDIS_URL, lambda message: None)
    await made.start()
    yield made
    await made.close()


@pytest.fixture
def thread() -> str:
    return str(uuid.uuid4())


async def write(log: EventLog, thread: str, items: list[Entry]) -> None:
    writer = log.writer(thread, lambda: None)
    for item in items:
        writer.write(item)
    await writer.flush()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def test_events_are_read_in_order_from_any_position(log: EventLog, thread: str) -> None:
    await write(log, thread, entries(1, 1, 5))
    view = await log.open(thread)
    assert view.read(Position(1, 2)) == entries(1, 3, 5)
    assert view.read(Position(0, 0)) == entries(1, 1, 5)
    assert view.read(Position(1, 5)) == []


async def test_a_reader_continues_into_the_next_run(log: EventLog, thread: str) -> None:
    await write(log, thread, entries(1, 1, 2))
    await write(log, thread, entries(2, 1, 2))
    view = await log.open(thread)
    assert [entry.position for entry in view.read(Position(1, 1))] == [(1, 2), (2, 1), (2, 2)]


async def test_a_watcher_is_woken_by_a_write(log: EventLog, thread: str) -> None:
    view = await log.open(thread)
    with view.watching() as changed:
        await write(log, thread, entries(1, 1, 1))
        async with asyncio.timeout(10):
            await changed.wait()
    assert view.read(Position(0, 0)) == entries(1, 1, 1)


async def test_kept_events_are_not_tracked_by_the_garbage_collector(log: EventLog, thread: str) -> None:
    # Otherwise each full collection would pause all streams of the process, for longer the more events are kept.
    await write(log, thread, entries(1, 1, 10))
    before = len(gc.get_objects())
    await write(log, thread, entries(1, 11, 2010))
    assert len(gc.get_objects()) - before < 200
    assert (await log.open(thread)).last == Position(1, 2010)


async def test_only_the_run_before_the_new_one_is_kept(log: EventLog, thread: str) -> None:
    for number in (1, 2, 3):
        await log.start_run(thread, number)
        await write(log, thread, entries(number, 1, 2))
    view = await log.open(thread)
    assert not view.holds(Position(1, 1))
    assert view.holds(Position(2, 0))


async def test_nothing_is_lost_under_many_small_writes(log: EventLog, thread: str) -> None:
    writer = log.writer(thread, lambda: None)
    for entry in entries(1, 1, 2000):
        writer.write(entry)
        if entry.seq % 100 == 0:
            await asyncio.sleep(0)
    await writer.flush()
    assert (await log.open(thread)).read(Position(1, 0)) == entries(1, 1, 2000)


def test_a_full_log_drops_its_oldest_events_and_no_longer_holds_their_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(eventlog, "MAX_BYTES", 100)
    view = ThreadLog()
    view.append(entries(1, 1, 50))
    assert not view.holds(Position(1, 0))
    assert view.holds(Position(1, 49))


async def test_a_running_run_keeps_its_log_while_idle_threads_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    log = MemoryLog()
    writer = log.writer("busy", lambda: None)
    busy, idle = log.thread("busy"), log.thread("idle")
    monkeypatch.setattr(memory, "IDLE_SECONDS", -1.0)
    monkeypatch.setattr(log, "_swept_at", -1000.0)
    assert log.sweep() == ["idle"]
    assert log.thread("busy") is busy and log.thread("idle") is not idle
    writer.write(Entry(1, 1, "{}"))
    assert busy.last == Position(1, 1)


def test_the_longest_idle_threads_are_dropped_first_if_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    log = MemoryLog()
    for thread in ("first", "second", "third"):
        log.thread(thread).append(entries(1, 1, 10))
    monkeypatch.setattr(memory, "MAX_TOTAL_BYTES", 2 * log.thread("first").bytes)
    monkeypatch.setattr(log, "_swept_at", -1000.0)
    assert log.sweep() == ["first"]


def test_events_before_a_gap_are_dropped() -> None:
    view = ThreadLog()
    view.append(entries(1, 1, 3))
    view.append(entries(1, 5, 6))
    assert not view.holds(Position(1, 2))
    assert view.holds(Position(1, 4))


async def test_another_process_finds_what_a_dead_process_wrote(tmp_path: Path) -> None:
    dead, heir = FileLog(tmp_path), FileLog(tmp_path)
    await dead.start_run("thread", 3)
    await write(dead, "thread", entries(3, 1, 5))
    assert (await heir.open("thread")).last is None
    assert (await heir.open_for_recovery("thread", 3)).read(Position(3, 0)) == entries(3, 1, 5)
    await write(heir, "thread", [Entry(3, 6, '{"type":"RUN_ERROR"}')])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cut", [b"", b"3}\n", b'{"s'], ids=["the end", "a part with it", "what is before the end"])
async def test_reading_a_file_stops_at_an_incomplete_line(tmp_path: Path, cut: bytes) -> None:
    await write(FileLog(tmp_path), "thread", entries(1, 1, 3))
    (path,) = tmp_path.iterdir()
    before, end, after = path.read_bytes().partition(b'{"seq":3}\n')
    assert end
    assert not after.strip(b"\0")
    path.write_bytes(before + (end.replace(cut, bytes(len(cut))) if cut else end[:-1]) + after)
    assert (await FileLog(tmp_path).open_for_recovery("thread", 1)).read(Position(1, 0)) == entries(1, 1, 2)


async def test_files_hold_text_of_any_kind_and_length(tmp_path: Path) -> None:
    texts = [
        "½ 🙂",
        "x" * WINDOW_BYTES,
        "line\u2028separator",
        *("word " * (n * 37 % 101) for n in range(400)),
        "y" * 9_000,
    ]
    said = [Entry(1, seq, json.dumps({"delta": text}, ensure_ascii=False)) for seq, text in enumerate(texts, 1)]
    for length in (1, 2, 3, 150, len(said)):
        log, thread = FileLog(tmp_path), str(uuid.uuid4())
        await write(log, thread, said[:length])
        assert (await FileLog(tmp_path).open_for_recovery(thread, 1)).read(Position(1, 0)) == said[:length]


async def test_taking_a_run_over_keeps_its_events_and_does_not_crash_the_former_writer(tmp_path: Path) -> None:
    loser = FileLog(tmp_path).writer("thread", lambda: None)
    for entry in entries(1, 1, 3):
        loser.write(entry)
    await write(FileLog(tmp_path), "thread", entries(1, 4, 5))
    # If its file had been truncated, this would be a bus error, which kills the process.
    for entry in entries(1, 4, 2_000):
        loser.write(entry)
    assert (await FileLog(tmp_path).open_for_recovery("thread", 1)).read(Position(1, 0)) == entries(1, 1, 5)


async def test_readers_get_events_if_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = FileLog(tmp_path)
    await write(log, "thread", entries(1, 1, 2))

    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file, "_write_at", no_room)
    await write(log, "another", entries(1, 1, 3))
    assert (await log.open("another")).read(Position(1, 0)) == entries(1, 1, 3)
    assert caplog.text.count("cannot be kept") == 1


async def test_the_file_of_an_earlier_run_is_not_read_for_the_next(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    await write(log, "thread", entries(1, 1, 3))
    assert (await FileLog(tmp_path).open_for_recovery("thread", 2)).last is None
    await log.start_run("thread", 2)
    assert not list(tmp_path.iterdir())


async def test_readers_get_events_if_the_folder_cannot_be_written(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "gone")
    await write(log, "thread", entries(1, 1, 3))
    assert (await log.open("thread")).read(Position(1, 0)) == entries(1, 1, 3)


async def test_a_forgotten_thread_is_empty_for_every_reader(log: EventLog, thread: str) -> None:
    await write(log, thread, entries(1, 1, 3))
    await asyncio.to_thread(log.forget, [thread])
    assert (await log.open_for_recovery(thread, 1)).last is None


async def until_true(ask: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(20):
        while not await ask():
            await asyncio.sleep(0.01)


async def _writes_and_finds_no_reader(log: RedisLog, client: Redis, thread: str) -> bool:
    """Write an event; return whether Redis has noticed that a reader is gone, which it does at a write."""
    last = (await log.open(thread)).last
    assert last is not None
    await write(log, thread, entries(1, last.seq + 1, last.seq + 1))
    return await client.scard(READERS + thread) <= 1


async def direct_and_relayed_logs() -> tuple[Line, RedisLog, RedisLog]:
    """Return a `Line` to Redis, a log that does not use it, and one that does; neither log is started."""
    parts = urlsplit(REDIS_URL)
    line = Line(parts.port or 6379)
    await line.start()
    here = RedisLog(REDIS_URL, lambda message: None)
    there = RedisLog(f"redis://{line.origin.removeprefix('http://')}{parts.path}", lambda message: None)
    return line, here, there


@pytest.fixture
async def two_processes() -> AsyncIterator[tuple[RedisLog, RedisLog]]:
    pair = (RedisLog(REDIS_URL, lambda message: None), RedisLog(REDIS_URL, lambda message: None))
    for log in pair:
        await log.start()
    yield pair
    for log in pair:
        await log.close()


if REDIS_URL:

    async def test_what_one_process_writes_another_reads(two_processes: tuple[RedisLog, RedisLog], thread: str) -> None:
        here, there = two_processes
        view = await there.open(thread)
        await write(here, thread, entries(1, 1, 300))
        await until(lambda: view.last == Position(1, 300))
        assert view.read(Position(0, 0)) == entries(1, 1, 300)

    async def test_a_reader_gets_events_after_another_opening_of_its_thread_was_cancelled(
        two_processes: tuple[RedisLog, RedisLog], thread: str
    ) -> None:
        here, there = two_processes
        first = asyncio.create_task(there.open(thread))
        await asyncio.sleep(0)
        view = await asyncio.gather(there.open(thread), asyncio.sleep(0, first.cancel()))
        await asyncio.gather(first, return_exceptions=True)
        await write(here, thread, entries(1, 1, 3))
        await until(lambda: view[0].last == Position(1, 3))

    async def test_a_dropped_thread_is_unfollowed_and_can_be_read_again(
        two_processes: tuple[RedisLog, RedisLog], thread: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there = two_processes
        await there.open(thread)
        monkeypatch.setattr(memory, "IDLE_SECONDS", -1.0)
        monkeypatch.setattr(there._memory, "_swept_at", -1000.0)
        async with Redis.from_url(REDIS_URL) as client:
            assert await client.scard(READERS + thread) == 1
            await there.start_run(str(uuid.uuid4()), 1)
            assert await client.scard(READERS + thread) == 0
        view = await there.open(thread)
        await write(here, thread, entries(1, 1, 3))
        await until(lambda: view.last == Position(1, 3))

    async def test_a_thread_expires_long_after_its_last_event(
        two_processes: tuple[RedisLog, RedisLog], thread: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, _ = two_processes

        async def left(*written: Entry) -> int:
            """Write events to a thread that expires in 100 seconds; return the seconds until it expires then."""
            await client.expire(STREAM + thread, 100)
            await write(here, thread, list(written))
            return int(await client.ttl(STREAM + thread))

        async with Redis.from_url(REDIS_URL) as client:
            assert await left(Entry(1, 1, "{}")) > redis.KEEP_SECONDS - 10
            assert await left(Entry(1, 2, "{}")) <= 100  # not with each event
            assert await left(Entry(1, 3, '{"type":"RUN_FINISHED"}')) > redis.KEEP_SECONDS - 10
            assert await left(Entry(2, 1, "{}")) > redis.KEEP_SECONDS - 10
            monkeypatch.setattr(redis_writer, "EXPIRY_INTERVAL_SECONDS", -1.0)
            assert await left(Entry(2, 2, "{}")) <= 100
            assert await left(Entry(2, 3, "{}")) <= 100
            # Redis could not be reached, and may have been restarted.
            here._on_message({"type": "subscribe", "channel": b"mailbox"})
            assert await left(Entry(2, 4, "{}"), Entry(2, 5, "{}")) > redis.KEEP_SECONDS - 10
            assert await left(Entry(2, 6, "{}")) > redis.KEEP_SECONDS - 10  # the interval has passed

    async def test_a_process_renews_its_entries_in_the_sets_of_readers(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(redis, "RENEW_SECONDS", 0.05)
        monkeypatch.setattr(redis, "KEYS_AT_ONCE", 2)
        log = RedisLog(REDIS_URL, lambda message: None)
        await log.start()
        threads = [str(uuid.uuid4()) for _ in range(5)]
        for thread in threads:
            await log.open(thread)
        async with Redis.from_url(REDIS_URL) as client:
            await client.delete(*(READERS + thread for thread in threads))
            for thread in threads:
                await until_true(lambda thread=thread: client.exists(READERS + thread))  # type: ignore[misc]
        await log.close()

    async def test_a_reader_that_missed_a_message_fetches_it(
        two_processes: tuple[RedisLog, RedisLog], thread: str
    ) -> None:
        here, there = two_processes
        view = await there.open(thread)
        async with Redis.from_url(REDIS_URL) as client:
            await client.delete(READERS + thread)
            await write(here, thread, entries(1, 1, 3))
            assert view.last is None
        assert (await there.open(thread)).last == Position(1, 3)
        await write(here, thread, entries(1, 4, 4))
        await until(lambda: view.last == Position(1, 4))
        assert view.read(Position(0, 0)) == entries(1, 1, 4)

    async def test_a_process_that_was_removed_from_the_readers_is_added_again(thread: str) -> None:
        line, here, there = await direct_and_relayed_logs()
        await there.start()
        view = await there.open(thread)
        line.cut()
        await write(here, thread, entries(1, 1, 3))
        async with Redis.from_url(REDIS_URL) as client:
            await until_true(lambda: _writes_and_finds_no_reader(here, client, thread))
            line.mend()
            await until_true(lambda: client.exists(READERS + thread))
        written = (await here.open(thread)).last
        assert written is not None
        await write(here, thread, entries(1, written.seq + 1, written.seq + 1))
        await until(lambda: view.last == Position(1, written.seq + 1))
        assert view.read(Position(0, 0)) == entries(1, 1, written.seq + 1)
        await there.close()
        await here.close()
        await line.stop()

    async def test_runs_that_write_at_the_same_time_share_a_round(
        two_processes: tuple[RedisLog, RedisLog], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there = two_processes
        rounds: list[int] = []
        append = here.append

        async def counted(batches: Sequence[Batch]) -> list[Exception | None]:
            rounds.append(len(batches))
            return await append(batches)

        monkeypatch.setattr(here._rounds, "_append", counted)
        threads = [str(uuid.uuid4()) for _ in range(20)]
        views = [await there.open(thread) for thread in threads]
        writers = [here.writer(thread, lambda: None) for thread in threads]
        for entry in entries(1, 1, 50):
            for writer in writers:
                writer.write(entry)
            await asyncio.sleep(0.001)
        await asyncio.gather(*(writer.flush() for writer in writers))
        await until(lambda: all(view.last == Position(1, 50) for view in views))
        assert all(view.read(Position(0, 0)) == entries(1, 1, 50) for view in views)
        assert len(rounds) <= 51 and max(rounds) == 20

    async def test_a_fenced_run_does_not_affect_others_in_its_round(
        two_processes: tuple[RedisLog, RedisLog], thread: str
    ) -> None:
        stale, taker = two_processes
        others = [str(uuid.uuid4()) for _ in range(3)]
        await write(taker, thread, entries(1, 1, 1))
        lost: list[str] = []
        writers = {name: stale.writer(name, partial(lost.append, name)) for name in (*others[:1], thread, *others[1:])}
        for writer in writers.values():
            writer.write(Entry(1, 1, '{"other":1}'))
        for name, writer in writers.items():
            if name == thread:
                with pytest.raises(Fenced):
                    await writer.flush()
            else:
                await writer.flush()
        assert lost == [thread]
        for name in others:
            assert (await taker.open(name)).read(Position(0, 0)) == [Entry(1, 1, '{"other":1}')]

    async def test_a_process_does_not_receive_its_own_events(
        two_processes: tuple[RedisLog, RedisLog], thread: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there = two_processes
        heard: list[bytes] = []
        monkeypatch.setattr(here._subscriptions, "_on_message", lambda message: heard.append(message["data"]))
        await here.open(thread)
        await there.open(thread)
        await write(here, thread, entries(1, 1, 3))
        await write(there, thread, entries(1, 4, 4))
        await until(lambda: any(isinstance(data, bytes) for data in heard))
        told = [data for data in heard if isinstance(data, bytes)]
        assert len(told) == 1 and b'\\"seq\\":4' in told[0]

    async def test_a_reader_catches_up_after_a_long_outage_of_redis(
        thread: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        line, here, there = await direct_and_relayed_logs()
        await there.start()
        view = await there.open(thread)
        await write(here, thread, entries(1, 1, 3))
        await until(lambda: view.last == Position(1, 3))
        monkeypatch.setattr(redis, "MAX_RETRY_SECONDS", 0.1)
        line.cut()
        await write(here, thread, entries(1, 4, 6))
        await asyncio.sleep(1.0)  # ten times as long as a command is retried
        line.mend()
        await until(lambda: view.last == Position(1, 6))
        await there.close()
        await here.close()
        await line.stop()

    async def test_readers_get_later_events_after_redis_has_lost_its_data(
        thread: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(redis_watch, "CHECK_SECONDS", 0.05)
        here, there = RedisLog(REDIS_URL, lambda message: None), RedisLog(REDIS_URL, lambda message: None)
        await here.start()
        await there.start()
        view = await there.open(thread)
        await write(here, thread, entries(1, 1, 3))
        await until(lambda: view.last == Position(1, 3) and there._watch._mark)
        async with Redis.from_url(REDIS_URL) as client:
            # As FLUSHALL does, but only to what this test uses.
            await client.delete(MARK_KEY, STREAM + thread, READERS + thread)
        await write(here, thread, entries(1, 4, 6))
        await until(lambda: view.last == Position(1, 6))
        await there.close()
        await here.close()

    async def test_a_process_that_starts_without_redis_subscribes_once_it_is_back(thread: str) -> None:
        line, here, there = await direct_and_relayed_logs()
        line.cut()
        await there.start()
        line.mend()
        view = await there.open(thread)
        await write(here, thread, entries(1, 1, 3))
        await until(lambda: view.last == Position(1, 3))
        await there.close()
        await here.close()
        await line.stop()

    async def test_a_writer_that_lost_its_run_is_fenced(two_processes: tuple[RedisLog, RedisLog], thread: str) -> None:
        stale, taker = two_processes
        await write(stale, thread, entries(1, 1, 3))
        await write(taker, thread, entries(1, 4, 4))
        lost: list[bool] = []
        writer = stale.writer(thread, lambda: lost.append(True))
        writer.write(Entry(1, 4, '{"other":4}'))
        writer.write(Entry(1, 5, '{"other":5}'))
        with pytest.raises(Fenced):
            await writer.flush()
        assert lost == [True]
        assert (await taker.open(thread)).read(Position(1, 3)) == entries(1, 4, 4)

    async def test_a_write_whose_reply_was_lost_is_not_repeated(
        two_processes: tuple[RedisLog, RedisLog], thread: str
    ) -> None:
        here, _ = two_processes
        assert await here.append([(thread, entries(1, 1, 3))]) == [None]
        assert await here.append([(thread, entries(1, 1, 3))]) == [None]
        assert (await here.open(thread)).read(Position(0, 0)) == entries(1, 1, 3)

    @pytest.mark.parametrize("what", CHANGES)
    async def test_a_change_reaches_readers_in_every_process(
        two_processes: tuple[RedisLog, RedisLog], thread: str, what: str
    ) -> None:
        here, there = two_processes
        views = [await here.open(thread), await there.open(thread)]
        with views[0].watching() as first, views[1].watching() as second:
            async with asyncio.timeout(20):
                # As below: a process that has not subscribed yet receives nothing.
                while not all(view.changes[what] for view in views):
                    await here.publish_change(thread, what)
                    await asyncio.sleep(0.01)
            assert first.is_set() and second.is_set()

    async def test_a_control_message_reaches_every_process(thread: str) -> None:
        heard: list[str] = []
        listener = RedisLog(REDIS_URL, heard.append)
        speaker = RedisLog(REDIS_URL, lambda message: None)
        await listener.start()
        await speaker.start()
        async with asyncio.timeout(10):
            while not heard:  # a message that is sent before the listener has subscribed is not heard
                await speaker.publish_control("cancel 7")
                await asyncio.sleep(0.01)
        assert set(heard) == {"cancel 7"}
        await listener.close()
        await speaker.close()
