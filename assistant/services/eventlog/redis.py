"""The event log on Redis streams, for several server processes.

Each thread is a stream whose entry ids are positions (`<run number>-<event number>`): Redis itself refuses an id
that is not larger than the last, and so fences off a writer that lost its run. A process that reads a thread says so in
a set beside the stream, and what others append comes to its mailbox; what it missed, it fetches from the stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from assistant.services.errors import REDIS_ERRORS
from assistant.services.eventlog.log import Entry, Fenced, Position, ThreadLog, follows
from assistant.services.eventlog.memory import MemoryLog
from assistant.services.eventlog.redis_pubsub import Subscriptions
from assistant.services.eventlog.redis_writer import APPEND, Batch, Expiries, RedisWriter, Rounds

logger = logging.getLogger(__name__)

STREAM = "assistant:thread:"
READERS = "assistant:readers:"
MAILBOX = "assistant:mailbox:"
CONTROL = "assistant:control"
FORGET = "forget "
SUMMARY = "summary "
KEEP_SECONDS = 3600
# A process says again what it reads, well before that would be forgotten.
RENEW_SECONDS = KEEP_SECONDS / 4
# Keys of one command that renews or deletes many.
KEYS_AT_ONCE = 500
RETRY_SECONDS = 0.25
# How long an append waits for a Redis that is away: longer than a restart of it takes.
PATIENCE_SECONDS = 20.0
# Threads whose missing events are fetched at the same time, when Redis is back.
FETCHES_AT_ONCE = 20

# What follows a position in a thread; if a process is named, it is told of what comes from then on.
READ = """
if ARGV[2] ~= '' then
  redis.call('SADD', KEYS[2], ARGV[2])
  redis.call('EXPIRE', KEYS[2], ARGV[3])
end
return redis.call('XRANGE', KEYS[1], ARGV[1], '+')
"""
# A process says again which threads it reads.
RENEW = """
for i = 1, #KEYS do
  redis.call('SADD', KEYS[i], ARGV[1])
  redis.call('EXPIRE', KEYS[i], ARGV[2])
end
"""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[tuple[str, list[Entry]]]).decode


class RedisLog:
    """Threads in Redis, each mirrored in this process while somebody here reads or writes it.

    `on_control` is called with every message that `publish_control` sent in any process.
    """

    survives_process = True

    def __init__(self, url: str, on_control: Callable[[str], None]) -> None:
        self._url = url
        self._redis: Redis = Redis.from_url(url, socket_keepalive=True)
        self._append_script = self._redis.register_script(APPEND)
        self._read_script = self._redis.register_script(READ)
        self._renew_script = self._redis.register_script(RENEW)
        self._id = uuid.uuid4().hex
        self._memory = MemoryLog()
        self._on_control = on_control
        self._rounds = Rounds(self.append, lambda failure: isinstance(failure, REDIS_ERRORS))
        self._followed: set[str] = set()
        self._expiries = Expiries()
        self._subscriptions = Subscriptions(url, on_message=self._take)
        self._fills: dict[str, asyncio.Task[None]] = {}
        self._wanted: set[str] = set()
        self._fetching = asyncio.Semaphore(FETCHES_AT_ONCE)
        self._renewal: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to listen for what other processes write and say."""
        await self._subscriptions.start(CONTROL, MAILBOX + self._id)
        self._renewal = asyncio.create_task(self._renew(), name="redis-log-renewal", context=contextvars.Context())

    def writer(self, thread: str, on_failure: Callable[[], object]) -> RedisWriter:
        return RedisWriter(self._rounds, thread, on_failure)

    async def append(self, batches: Sequence[Batch]) -> list[Exception | None]:
        """Write to Redis first and show to readers here after: what a client saw outlives this process.

        An exception for each thread to which nothing could be added, else None.
        """
        keys: list[str] = []
        arguments: list[str | bytes | int] = [KEEP_SECONDS, self._id, MAILBOX, self._expiries.due(batches)]
        for thread, entries in batches:
            number, seq = entries[0].position
            keys += (STREAM + thread, READERS + thread)
            arguments += (number, seq, len(entries), _encode((thread, entries)))
            arguments += [entry.frame for entry in entries]
        try:
            failed = set(await self._patiently(lambda: self._append_script(keys=keys, args=arguments)))
        except ResponseError:
            failed = set(range(len(batches)))
        except REDIS_ERRORS as exc:
            logger.warning("The events of %d threads cannot be kept: %r", len(batches), exc)
            return [exc] * len(batches)
        failures: list[Exception | None] = []
        away: Exception | None = None
        for place, (thread, entries) in enumerate(batches):
            failure = (away or await self._recover(thread, entries)) if place in failed else None
            failures.append(failure)
            if failure is None:
                self._memory.thread(thread).append(entries)
            elif isinstance(failure, REDIS_ERRORS):
                away = failure
        return failures

    async def _recover(self, thread: str, entries: Sequence[Entry]) -> Exception | None:
        """Their place is taken: by this very write, of which only the answer was lost, or by another process."""
        number, seq = entries[0].position
        try:
            stored = await self._fetch(thread, Position(number, seq - 1))
            if stored[: len(entries)] == list(entries):
                return None
            await self._fill(thread)
        except REDIS_ERRORS as exc:
            return exc
        logger.warning("Another process writes to thread %s", thread)
        return Fenced(thread)

    async def _patiently(self, command: Callable[[], Awaitable[Any]]) -> Any:
        """Repeat a command while Redis is away, for a bounded time; then raise what it raised."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while True:
            try:
                return await command()
            except ResponseError:
                raise
            except REDIS_ERRORS as exc:
                if asyncio.get_running_loop().time() > deadline:
                    if isinstance(exc, RuntimeError):
                        raise RedisConnectionError("The connection was closed.") from exc
                    raise
                await asyncio.sleep(RETRY_SECONDS)

    async def _fetch(self, thread: str, after: Position) -> list[Entry]:
        """What follows a position; if the thread is read here, whatever comes later is sent here."""
        reader = self._id if thread in self._followed else ""
        keys = [STREAM + thread, READERS + thread]
        arguments: list[str | int] = [f"({after.number}-{after.seq}", reader, KEEP_SECONDS]
        rows = await self._patiently(lambda: self._read_script(keys=keys, args=arguments))
        entries = []
        for row_id, (_, frame) in rows:
            number, seq = row_id.decode().split("-")
            entries.append(Entry(int(number), int(seq), frame.decode()))
        return entries

    async def open(self, thread: str) -> ThreadLog:
        log = self._memory.thread(thread)
        self._followed.add(thread)
        await self._fill(thread)
        return log

    async def open_for_recovery(self, thread: str, number: int) -> ThreadLog:
        return await self.open(thread)

    async def start_run(self, thread: str, number: int) -> ThreadLog:
        if number == 1:
            self._memory.reset(thread)
            if await self._patiently(lambda: self._redis.delete(STREAM + thread)):
                # Other processes read this before the first event, for it is published before it.
                await self.publish_control(f"{FORGET}{self._id} {thread}")
        with contextlib.suppress(*REDIS_ERRORS):  # only room is lost: the stream expires by itself
            await self._redis.xtrim(STREAM + thread, minid=f"{number - 1}-0", approximate=False)
        # A writer follows its thread too: events that others add after a take-over must not be missing here.
        log = await self.open(thread)
        log.forget_before(number - 1)
        await self.tidy()
        return log

    async def tidy(self) -> None:
        await self._let_go(self._memory.sweep())

    async def _let_go(self, threads: Sequence[str]) -> None:
        """Say of threads that they are no longer read here."""
        self._followed.difference_update(threads)
        for thread in threads:
            if thread in self._followed:
                continue
            self._expiries.forget(thread)
            with contextlib.suppress(*REDIS_ERRORS):  # else others send here what nobody reads, for a while
                await self._redis.srem(READERS + thread, self._id)
            if thread in self._followed:  # again, while that was on its way
                self._fill_soon(thread)

    async def publish_summary_change(self, thread: str) -> None:
        await self.publish_control(f"{SUMMARY}{thread}")

    async def publish_control(self, message: str) -> None:
        """Tell every process something; delivery is a hint, the database holds the truth."""
        with contextlib.suppress(*REDIS_ERRORS):
            await self._redis.publish(CONTROL, message)

    def forget(self, threads: Sequence[str]) -> None:
        self._memory.forget(threads)
        with SyncRedis.from_url(self._url) as client:
            for start in range(0, len(threads), KEYS_AT_ONCE):
                client.delete(*(STREAM + thread for thread in threads[start : start + KEYS_AT_ONCE]))

    def size(self) -> tuple[int, int]:
        return self._memory.size()

    async def close(self) -> None:
        await self._subscriptions.close()
        tasks = [*self._fills.values(), *([self._renewal] if self._renewal is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._redis.aclose()

    def _take(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "subscribe" and message["channel"].decode() != CONTROL:
            # From here on nothing is missed. Redis strikes off whom it could not reach before, and one that was
            # restarted knows of nobody, and of no expiry.
            self._expiries.clear()
            self._fill_all()
        if message["type"] != "message":
            return
        if message["channel"].decode() == CONTROL:
            self._take_control(message["data"].decode())
            return
        for thread, entries in _decode(message["data"]):
            if thread not in self._followed:
                continue
            log = self._memory.thread(thread)
            if follows(entries[0], log.last):
                log.append(entries)
            elif log.last is None or entries[-1].position > log.last:
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
            self._memory.reset(thread)

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
                    async with self._fetching:
                        await self._fill(thread)
                except REDIS_ERRORS:
                    logger.warning("Redis is away; thread %s waits for its events", thread)
                    self._wanted.add(thread)
                    await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._wanted.discard(thread)
            del self._fills[thread]

    async def _fill(self, thread: str) -> None:
        log = self._memory.thread(thread)
        log.append(await self._fetch(thread, log.last or Position(0, 0)))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            threads = list(self._followed)
            for start in range(0, len(threads), KEYS_AT_ONCE):
                keys = [READERS + thread for thread in threads[start : start + KEYS_AT_ONCE]]
                with contextlib.suppress(*REDIS_ERRORS):  # who cannot reach Redis says it all when it is back
                    await self._renew_script(keys=keys, args=[self._id, KEEP_SECONDS])
