"""The event log on Redis streams, for several server processes.

Each thread is a stream whose entry ids are positions (`<run number>-<event number>`): Redis itself refuses an id
that is not larger than the last, and so fences off a writer that lost its run. An append is published as well, so that
reading processes need no second trip; what a reader missed, it fetches from the stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from assistant.services.eventlog import Entry, Fenced, MemoryLog, Position, ThreadLog, follows
from assistant.services.subscriptions import AWAY, Subscriptions

logger = logging.getLogger(__name__)

STREAM = "assistant:thread:"
CONTROL = "assistant:control"
FORGET = "forget "
SUMMARY = "summary "
KEEP_SECONDS = 3600
RETRY_SECONDS = 0.25
# How long an append waits for a Redis that is away: longer than a restart of it takes.
PATIENCE_SECONDS = 20.0

# One script, so that either all events of an append are added or none: XADD raises where the place is taken.
APPEND = """
for i = 5, #ARGV do
  redis.call('XADD', KEYS[1], ARGV[2] .. '-' .. (tonumber(ARGV[3]) + i - 5), 'f', ARGV[i])
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('PUBLISH', KEYS[1], ARGV[4])
"""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Entry]).decode


class RedisWriter:
    """Writes in batches: what comes while one batch is under way is the next one."""

    def __init__(self, log: RedisLog, thread: str, on_failure: Callable[[], object]) -> None:
        self._log = log
        self._thread = thread
        self._on_failure = on_failure
        self._pending: list[Entry] = []
        self._task: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    def write(self, entry: Entry) -> None:
        self._pending.append(entry)
        if self._task is None:
            self._task = asyncio.create_task(self._drain(), name="redis-log-writer")

    async def flush(self) -> None:
        if self._task is not None:
            await asyncio.shield(self._task)
        if self._failure is not None:
            raise self._failure

    async def _drain(self) -> None:
        try:
            while self._pending and self._failure is None:
                batch, self._pending = self._pending, []
                await self._log.append(self._thread, batch)
        except (Fenced, *AWAY) as exc:
            logger.warning("The events of thread %s cannot be kept: %r", self._thread, exc)
            self._failure = exc
            self._on_failure()
        finally:
            self._task = None


class RedisLog:
    """Threads in Redis, each mirrored in this process while somebody here reads or writes it.

    `on_control` is called with every message that `publish_control` sent in any process.
    """

    def __init__(self, url: str, on_control: Callable[[str], None]) -> None:
        self._redis: Redis = Redis.from_url(url, socket_keepalive=True)
        self._append_script = self._redis.register_script(APPEND)
        self._id = uuid.uuid4().hex
        self._memory = MemoryLog()
        self._on_control = on_control
        self._followed: set[str] = set()
        self._subscriptions = Subscriptions(url, on_message=self._take, on_connect=self._fill_all)
        self._fills: dict[str, asyncio.Task[None]] = {}
        self._wanted: set[str] = set()

    async def start(self) -> None:
        """Begin to listen for what other processes write and say."""
        await self._patiently(lambda: self._subscriptions.start(CONTROL))

    def writer(self, thread: str, on_failure: Callable[[], object]) -> RedisWriter:
        return RedisWriter(self, thread, on_failure)

    async def append(self, thread: str, entries: Sequence[Entry]) -> None:
        """Write to Redis first and show to readers here after: what a client saw outlives this process."""
        if not entries:
            return
        number, seq, _ = entries[0]
        arguments: list[str | bytes | int] = [
            KEEP_SECONDS,
            number,
            seq,
            _encode(entries),
            *(entry.frame for entry in entries),
        ]
        try:
            await self._patiently(lambda: self._append_script(keys=[STREAM + thread], args=arguments))
        except ResponseError as exc:
            stored = await self._fetch(thread, Position(number, seq - 1))
            if stored[: len(entries)] != list(entries):
                await self._fill(thread)
                raise Fenced(thread) from exc
            # Our own write stands there: only its answer was lost with a connection.
        self._memory.thread(thread).append(entries)

    async def _patiently(self, command: Callable[[], Awaitable[Any]]) -> Any:
        """Repeat a command while Redis is away, for a bounded time; then raise what it raised."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while True:
            try:
                return await command()
            except ResponseError:
                raise
            except AWAY as exc:
                if asyncio.get_running_loop().time() > deadline:
                    if isinstance(exc, RuntimeError):
                        raise RedisConnectionError("The connection was closed.") from exc
                    raise
                await asyncio.sleep(RETRY_SECONDS)

    async def _fetch(self, thread: str, after: Position) -> list[Entry]:
        rows = await self._patiently(lambda: self._redis.xrange(STREAM + thread, min=f"({after.number}-{after.seq}"))
        entries = []
        for row_id, fields in rows:
            number, seq = row_id.decode().split("-")
            entries.append(Entry(int(number), int(seq), fields[b"f"].decode()))
        return entries

    async def open(self, thread: str) -> ThreadLog:
        log = self._memory.thread(thread)
        if thread not in self._followed:
            self._followed.add(thread)
            await self._subscriptions.add(STREAM + thread)
        await self._fill(thread)
        return log

    async def salvage(self, thread: str, number: int) -> ThreadLog:
        return await self.open(thread)

    async def start_run(self, thread: str, number: int) -> None:
        if number == 1:
            self._memory.forget(thread)
            if await self._patiently(lambda: self._redis.delete(STREAM + thread)):
                # Other processes read this before the first event, for it is published before it.
                await self.publish_control(f"{FORGET}{self._id} {thread}")
        with contextlib.suppress(*AWAY):  # only room is lost: the stream expires by itself
            await self._redis.xtrim(STREAM + thread, minid=f"{number - 1}-0", approximate=False)
        # A writer follows its thread too: events that others add after a take-over must not be missing here.
        await self.open(thread)
        self._memory.thread(thread).forget_before(number - 1)
        for idle in self._memory.sweep():
            if idle in self._followed:
                self._followed.discard(idle)
                await self._subscriptions.discard(STREAM + idle)

    async def tell_summary(self, thread: str) -> None:
        await self.publish_control(f"{SUMMARY}{thread}")

    async def publish_control(self, message: str) -> None:
        """Tell every process something; delivery is a hint, the database holds the truth."""
        with contextlib.suppress(*AWAY):
            await self._redis.publish(CONTROL, message)

    def size(self) -> tuple[int, int]:
        return self._memory.size()

    async def close(self) -> None:
        await self._subscriptions.close()
        fills = list(self._fills.values())
        for task in fills:
            task.cancel()
        await asyncio.gather(*fills, return_exceptions=True)
        await self._redis.aclose()

    def _take(self, message: Mapping[str, Any]) -> None:
        channel = message["channel"].decode()
        if channel == CONTROL:
            if message["type"] == "message":
                self._take_control(message["data"].decode())
            return
        thread = channel.removeprefix(STREAM)
        if message["type"] == "message":
            entries = _decode(message["data"])
            log = self._memory.thread(thread)
            if follows(entries[0], log.last):
                log.append(entries)
            elif log.last is None or entries[-1].position > log.last:
                self._fill_soon(thread)
        elif message["type"] == "subscribe":
            # Between the first fetch and this moment something may have been published.
            self._fill_soon(thread)

    def _take_control(self, text: str) -> None:
        if text.startswith(SUMMARY):
            self._memory.note_summary(text.removeprefix(SUMMARY))
            return
        if not text.startswith(FORGET):
            self._on_control(text)
            return
        sender, _, thread = text.removeprefix(FORGET).partition(" ")
        if sender != self._id:
            self._memory.forget(thread)

    def _fill_all(self) -> None:
        for thread in list(self._followed):
            self._fill_soon(thread)

    def _fill_soon(self, thread: str) -> None:
        # Wanted anew even while a fill is under way: it may have read before this event was written.
        self._wanted.add(thread)
        if thread not in self._fills:
            self._fills[thread] = asyncio.create_task(self._fill_at_last(thread), name="redis-log-fill")

    async def _fill_at_last(self, thread: str) -> None:
        """Fetch what is missing, however long Redis is away: readers here wait for it."""
        try:
            while thread in self._wanted and thread in self._followed:
                self._wanted.discard(thread)
                try:
                    await self._fill(thread)
                except AWAY:
                    logger.warning("Redis is away; thread %s waits for its events", thread)
                    self._wanted.add(thread)
                    await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._wanted.discard(thread)
            del self._fills[thread]

    async def _fill(self, thread: str) -> None:
        log = self._memory.thread(thread)
        log.append(await self._fetch(thread, log.last or Position(0, 0)))
