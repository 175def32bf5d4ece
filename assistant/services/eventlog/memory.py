"""The event log within one process: each thread's events in memory, and which of them are let go."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from assistant.services.eventlog.log import Entry, ThreadLog, Writer

# Seconds that a thread nobody reads or writes stays in memory, and what all threads together may hold before the
# longest idle go early: a fresh picture from the database replaces them.
IDLE_SECONDS = 600.0
MAX_TOTAL_BYTES = 256 * 1024 * 1024
SWEEP_SECONDS = 10.0


class MemoryWriter:
    """Writes at once: there is nothing to wait for."""

    failure: Exception | None = None

    def __init__(self, log: ThreadLog) -> None:
        self._log = log
        log.writers.add(self)

    def write(self, entry: Entry) -> None:
        self._log.append((entry,))

    async def flush(self) -> None:
        return


class MemoryLog:
    """Everything within this process."""

    survives_process = False

    def __init__(self) -> None:
        self._threads: dict[str, ThreadLog] = {}
        self._swept_at = time.monotonic()

    def thread(self, thread: str) -> ThreadLog:
        log = self._threads.get(thread)
        if log is None:
            log = self._threads[thread] = ThreadLog()
        return log

    async def start(self) -> None:
        """Nothing has to be connected."""

    def reset(self, thread: str) -> None:
        """Let the next reader or writer begin with an empty log; those of the old one keep it."""
        log = self._threads.get(thread)
        if log is not None and (log.last is not None or log.is_watched):
            del self._threads[thread]

    def writer(self, thread: str, on_failure: Callable[[], object]) -> Writer:
        return MemoryWriter(self.thread(thread))

    async def open(self, thread: str) -> ThreadLog:
        return self.thread(thread)

    async def open_for_recovery(self, thread: str, number: int) -> ThreadLog:
        return self.thread(thread)

    async def start_run(self, thread: str, number: int) -> ThreadLog:
        if number == 1:
            self.reset(thread)
        log = self.thread(thread)
        log.forget_before(number - 1)
        await self.tidy()
        return log

    async def tidy(self) -> None:
        self.sweep()

    async def publish_summary_change(self, thread: str) -> None:
        self.note_summary(thread)

    def note_summary(self, thread: str) -> None:
        """Pass it on to whoever reads the thread here."""
        log = self._threads.get(thread)
        if log is not None:
            log.note_summary()

    async def publish_control(self, message: str) -> None:
        """There is no other process to tell."""

    def size(self) -> tuple[int, int]:
        logs = list(self._threads.values())
        return len(logs), sum(log.bytes for log in logs)

    async def close(self) -> None:
        self._threads.clear()

    def forget(self, threads: Sequence[str]) -> None:
        for thread in threads:
            self._threads.pop(thread, None)

    def sweep(self) -> list[str]:
        """Forget threads that have been idle for long, and sooner if memory runs short; returns them.

        Looks at most once in `SWEEP_SECONDS`.
        """
        now = time.monotonic()
        if now - self._swept_at < SWEEP_SECONDS:
            return []
        self._swept_at = now
        total = sum(log.bytes for log in self._threads.values())
        unused = [(log.touched_at, thread, log) for thread, log in self._threads.items() if not log.is_in_use]
        forgotten = []
        for touched_at, thread, log in sorted(unused, key=lambda entry: entry[0]):
            if now - touched_at <= IDLE_SECONDS and total <= MAX_TOTAL_BYTES:
                break
            total -= log.bytes
            del self._threads[thread]
            forgotten.append(thread)
        return forgotten
