"""The event log on Redis streams, for several server processes.

Each thread is a stream whose entry ids are positions (`<run number>-<event number>`). Redis refuses an id that is not
larger than the last one, which stops a writer that has lost its run. A process that reads a thread adds its id to a set
beside the stream, and receives what others append on a channel of its own, its mailbox. What it misses there, it reads
from the stream.
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

from assistant.contrib.redis.problems import redis_problem
from assistant.contrib.redis.pubsub import Subscriptions
from assistant.contrib.redis.scripts import APPEND, READ, RENEW
from assistant.contrib.redis.watch import RedisWatch
from assistant.contrib.redis.writer import Batch, Expiries, RedisWriter, WriteRounds
from assistant.services.conversations.added_notices import ADDED
from assistant.services.errors import describe_outage
from assistant.services.eventlog.log import CHANGES, Entry, Fenced, Position, ThreadLog, follows
from assistant.services.eventlog.memory import MemoryLog
from assistant.services.outage_errors import REDIS_ERRORS

logger = logging.getLogger(__name__)

STREAM = "assistant:thread:"
READERS = "assistant:readers:"
MAILBOX = "assistant:mailbox:"
CONTROL = "assistant:control"
FORGET = "forget "
# When streams and sets of readers expire. A process renews its entries well before.
KEEP_SECONDS = 3600
RENEW_SECONDS = KEEP_SECONDS / 4
# The most keys in one command that renews or deletes.
KEYS_AT_ONCE = 500
RETRY_INTERVAL_SECONDS = 0.25
# How long a command is repeated while Redis cannot be reached: longer than a restart takes.
MAX_RETRY_SECONDS = 20.0
# Threads that fetch missing events at the same time after Redis could not be reached.
MAX_FETCHES = 20

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[tuple[str, list[Entry]]]).decode


class RedisLog:
    """Threads in Redis, with copies in memory of those that are read or written in this process.

    Args:
        url: the address of Redis.
        on_control: called with every message that any process sends by `publish_control`.
    """

    survives_process = True

    def __init__(self, url: str, on_control: Callable[[str], None]) -> None:
        self._url = url
        self._redis: Redis = Redis.from_url(url, socket_keepalive=True)
        self._append_script = self._redis.register_script(APPEND)
        self._read_script = self._redis.register_script(READ)
        self._renew_script = self._redis.register_script(RENEW)
        self._watch = RedisWatch(self._redis, self._fill_all)
        self._id = uuid.uuid4().hex
        self._memory = MemoryLog()
        self._on_control = on_control
        self._rounds = WriteRounds(self.append, lambda failure: isinstance(failure, REDIS_ERRORS))
        self._followed: set[str] = set()
        self._expiries = Expiries()
        self._subscriptions = Subscriptions(url, on_message=self._on_message)
        self._fills: dict[str, asyncio.Task[None]] = {}
        self._wanted: set[str] = set()
        self._fetching = asyncio.Semaphore(MAX_FETCHES)
        self._renewal: asyncio.Task[None] | None = None

    @property
    def is_writable(self) -> bool:
        return self._watch.problem is None

    async def start(self) -> None:
        await self._subscriptions.start(CONTROL, MAILBOX + self._id)
        self._renewal = asyncio.create_task(self._renew(), name="redis-log-renewal", context=contextvars.Context())
        self._watch.start()

    def writer(self, thread: str, on_failure: Callable[[], object]) -> RedisWriter:
        return RedisWriter(self._rounds, thread, on_failure)

    async def append(self, batches: Sequence[Batch]) -> list[Exception | None]:
        """Append to Redis, and then to the copies in memory, so that what a client sees survives this process.

        Returns:
            For each batch None, or the exception because of which none of its events was added.
        """
        keys: list[str] = []
        arguments: list[str | bytes | int] = [KEEP_SECONDS, self._id, MAILBOX, self._expiries.due(batches)]
        for thread, entries in batches:
            number, seq = entries[0].position
            keys += (STREAM + thread, READERS + thread)
            arguments += (number, seq, len(entries), _encode((thread, entries)))
            arguments += [entry.frame for entry in entries]
        try:
            failed = set(await self._with_retry(lambda: self._append_script(keys=keys, args=arguments), is_write=True))
        except REDIS_ERRORS as exc:
            if not isinstance(exc, ResponseError) or redis_problem(exc):
                logger.warning("%s: the events of %d threads are not stored", describe_outage(exc), len(batches))
                return [exc] * len(batches)
            failed = set(range(len(batches)))
        failures: list[Exception | None] = []
        outage: Exception | None = None
        for index, (thread, entries) in enumerate(batches):
            failure = (outage or await self._recover(thread, entries)) if index in failed else None
            failures.append(failure)
            if failure is None:
                self._memory.thread(thread).append(entries)
            elif isinstance(failure, REDIS_ERRORS):
                outage = failure
        return failures

    async def _recover(self, thread: str, entries: Sequence[Entry]) -> Exception | None:
        """Return None if an earlier try wrote events whose positions are taken, `Fenced` if another process did."""
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

    async def _with_retry(self, command: Callable[[], Awaitable[Any]], *, is_write: bool = False) -> Any:
        """Run a command; repeat it while Redis cannot be reached (or refuses it, if `is_write`), for a limited time."""
        deadline = asyncio.get_running_loop().time() + MAX_RETRY_SECONDS
        while True:
            try:
                return await command()
            except REDIS_ERRORS as exc:
                self._watch.note(exc)
                if isinstance(exc, ResponseError) and not (is_write and redis_problem(exc)):
                    raise
                if asyncio.get_running_loop().time() > deadline:
                    if isinstance(exc, RuntimeError):
                        raise RedisConnectionError("The connection was closed.") from exc
                    raise
                await asyncio.sleep(RETRY_INTERVAL_SECONDS)

    async def _fetch(self, thread: str, after: Position) -> list[Entry]:
        """Read the entries after a position; if the thread is read here, subscribe to later ones."""
        reader = self._id if thread in self._followed else ""
        keys = [STREAM + thread, READERS + thread]
        arguments: list[str | int] = [f"({after.number}-{after.seq}", reader, KEEP_SECONDS]
        rows = await self._with_retry(lambda: self._read_script(keys=keys, args=arguments))
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
            if await self._with_retry(lambda: self._redis.delete(STREAM + thread), is_write=True):
                # Published before the run's first event, so that other processes receive it first.
                await self.publish_control(f"{FORGET}{self._id} {thread}")
        with contextlib.suppress(*REDIS_ERRORS):  # without it Redis only needs more memory until the stream expires
            await self._redis.xtrim(STREAM + thread, minid=f"{number - 1}-0", approximate=False)
        # The process of a run reads its thread too: another one may take the run over and add events.
        log: ThreadLog = await self._with_retry(lambda: self.open(thread), is_write=True)
        log.forget_before(number - 1)
        await self.drop_idle_threads()
        return log

    async def drop_idle_threads(self) -> None:
        await self._unfollow(self._memory.sweep())

    async def _unfollow(self, threads: Sequence[str]) -> None:
        """Remove this process from the readers of threads that it has dropped."""
        self._followed.difference_update(threads)
        for thread in threads:
            if thread in self._followed:
                continue
            self._expiries.forget(thread)
            with contextlib.suppress(*REDIS_ERRORS):  # others then send events here needlessly until the set expires
                await self._redis.srem(READERS + thread, self._id)
            if thread in self._followed:  # opened again in the meantime
                self._fill_soon(thread)

    async def publish_change(self, thread: str, what: str) -> None:
        await self.publish_control(f"{what} {thread}")

    async def publish_control(self, message: str) -> None:
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
        await self._watch.close()
        tasks = [*self._fills.values(), *([self._renewal] if self._renewal is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._redis.aclose()

    def _on_message(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "subscribe" and message["channel"].decode() != CONTROL:
            # Earlier messages may have been missed. A process that could not be reached was removed from the readers,
            # and a Redis that was restarted may have lost readers and expiries.
            self._fill_all()
        if message["type"] != "message":
            return
        if message["channel"].decode() == CONTROL:
            self._on_control_message(message["data"].decode())
            return
        for thread, entries in _decode(message["data"]):
            if thread not in self._followed:
                continue
            log = self._memory.thread(thread)
            if follows(entries[0], log.last):
                log.append(entries)
            elif log.last is None or entries[-1].position > log.last:
                self._fill_soon(thread)

    def _on_control_message(self, text: str) -> None:
        what, _, about = text.partition(" ")
        if what in CHANGES or what in ADDED:
            self._memory.notify_change(about, what)
            return
        if not text.startswith(FORGET):
            self._on_control(text)
            return
        sender, _, thread = text.removeprefix(FORGET).partition(" ")
        if sender != self._id:
            self._memory.reset(thread)

    def _fill_all(self) -> None:
        self._expiries.clear()
        for thread in list(self._followed):
            self._fill_soon(thread)

    def _fill_soon(self, thread: str) -> None:
        # Another fetch follows one that is in progress, which may have read before this event was written.
        self._wanted.add(thread)
        if thread not in self._fills:
            self._fills[thread] = asyncio.create_task(self._fill_with_retry(thread), name="redis-log-fill")

    async def _fill_with_retry(self, thread: str) -> None:
        """Fetch what is missing for this process's readers, however long Redis cannot be reached."""
        try:
            while thread in self._wanted and thread in self._followed:
                self._wanted.discard(thread)
                try:
                    async with self._fetching:
                        await self._fill(thread)
                except REDIS_ERRORS as exc:
                    logger.warning("%s; thread %s waits for its events", describe_outage(exc), thread)
                    self._wanted.add(thread)
                    await asyncio.sleep(RETRY_INTERVAL_SECONDS)
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
                with contextlib.suppress(*REDIS_ERRORS):  # a new connection adds them all again
                    await self._renew_script(keys=keys, args=[self._id, KEEP_SECONDS])
