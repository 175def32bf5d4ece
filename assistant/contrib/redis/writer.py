"""Writes the events of all runs of this process to Redis together, in rounds.

A run with 50 tokens a second writes 50 times a second, and a command for each event would cost more than everything
else that is done for a token. So one round is in progress at a time, and events that runs write meanwhile go into the
next.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable, Sequence

from assistant.services.eventlog.log import Entry
from assistant.services.token_bucket import Bucket

# The rate of rounds and the burst after a pause, which lets a single stream write without delay. A round of two events
# costs nearly as much as one of ten: without this limit 132 streams took a quarter more CPU.
ROUNDS_PER_SECOND = 200.0
ROUNDS_BURST = 10
# Redis runs one script at a time, so a longer round would delay other processes.
MAX_ENTRIES_PER_ROUND = 500

# A thread's expiry, of an hour, is set again at most this often.
EXPIRY_INTERVAL_SECONDS = 60.0

Batch = tuple[str, Sequence[Entry]]
# Appends the events of several threads; returns for each None, or the exception why they could not be added.
Append = Callable[[Sequence[Batch]], Awaitable[Sequence[Exception | None]]]


class Expiries:
    """When the expiry of each written thread was last set."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def due(self, batches: Sequence[Batch]) -> str:
        """Return a string with a 1 for each batch whose thread's expiry is to be set, else a 0."""
        now = time.monotonic()
        return "".join("1" if self._is_due(thread, entries, now) else "0" for thread, entries in batches)

    def _is_due(self, thread: str, entries: Sequence[Entry], now: float) -> bool:
        if entries[-1].is_end:
            self.forget(thread)
            return True
        if self._until.get(thread, 0.0) > now:
            return False
        self._until[thread] = now + EXPIRY_INTERVAL_SECONDS
        return True

    def forget(self, thread: str) -> None:
        """Forget a thread that is not written any more."""
        self._until.pop(thread, None)

    def clear(self) -> None:
        """Forget all threads, because Redis may have been restarted and have lost expiries."""
        self._until.clear()


class RedisWriter:
    """Writes the events of one run with the next round."""

    def __init__(self, rounds: WriteRounds, thread: str, on_failure: Callable[[], object]) -> None:
        self._rounds = rounds
        self._thread = thread
        self._on_failure = on_failure
        self._pending: list[Entry] = []
        self.failure: Exception | None = None
        self._is_due = False
        self._written = self._settled = 0

    def write(self, entry: Entry) -> None:
        if self.failure is not None:
            return
        self._pending.append(entry)
        self._written += 1
        if not self._is_due:
            self._is_due = True
            self._rounds.join(self)

    def keep_events(self) -> None:
        return

    async def flush(self) -> None:
        # Waits only for events that exist now: while a run streams text, there are always more.
        written = self._written
        while self._settled < written and self.failure is None:
            await self._rounds.wait_for_round()
        if self.failure is not None:
            raise self.failure

    def take(self) -> Batch:
        """Return the thread and its pending events, which are then pending no more."""
        batch = self._pending
        self._pending = []
        return self._thread, batch

    def settle(self, count: int, failure: Exception | None) -> bool:
        """Record that `count` events were written, or failed; return whether there are more to write."""
        self._settled += count
        self._is_due = failure is None and bool(self._pending)
        if failure is not None:
            self.failure = failure
            self._on_failure()
        return self._is_due


class WriteRounds:
    """Writes one round after the other, for all writers of this process.

    Args:
        append: appends the events of a round, with retries while Redis cannot be reached.
        is_outage: whether an exception means that other events could not have been appended either.
    """

    def __init__(self, append: Append, is_outage: Callable[[Exception | None], bool]) -> None:
        self._append = append
        self._is_outage = is_outage
        self._due: list[RedisWriter] = []
        self._task: asyncio.Task[None] | None = None
        self._end: asyncio.Future[None] | None = None
        self._bucket = Bucket(ROUNDS_BURST, ROUNDS_PER_SECOND)

    def join(self, writer: RedisWriter) -> None:
        """Include a writer in the next round."""
        self._due.append(writer)
        if self._task is None:
            # An empty context: the task must not inherit the tenant of the run that starts it.
            self._task = asyncio.create_task(self._write(), name="redis-log-rounds", context=contextvars.Context())

    async def wait_for_round(self) -> None:
        """Wait for the end of the current round, or of the next one."""
        if self._end is None:
            self._end = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._end)

    async def _write(self) -> None:
        try:
            while self._due:
                if pause := self._bucket.reserve():
                    await asyncio.sleep(pause)
                writers, batches = self._next_round()
                try:
                    failures = await self._append(batches)
                except Exception as exc:
                    failures = [exc] * len(writers)
                for writer, (_, entries), failure in zip(writers, batches, failures, strict=True):
                    if writer.settle(len(entries), failure):
                        self._due.append(writer)
                outage = next((failure for failure in failures if self._is_outage(failure)), None)
                if outage is not None:
                    self._fail_all(outage)
                self._end_round()
        finally:
            self._task = None
            self._end_round()

    def _fail_all(self, failure: Exception) -> None:
        """Fail all waiting writers, whose rounds would otherwise each wait for as long."""
        writers = self._due
        self._due = []
        for writer in writers:
            _, entries = writer.take()
            writer.settle(len(entries), failure)

    def _next_round(self) -> tuple[list[RedisWriter], list[Batch]]:
        writers: list[RedisWriter] = []
        batches: list[Batch] = []
        size = 0
        while self._due and size < MAX_ENTRIES_PER_ROUND:
            writer = self._due.pop(0)
            writers.append(writer)
            batches.append(writer.take())
            size += len(batches[-1][1])
        return writers, batches

    def _end_round(self) -> None:
        end = self._end
        self._end = None
        if end is not None:
            end.set_result(None)
