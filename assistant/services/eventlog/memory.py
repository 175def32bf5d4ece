"""The event log of a single process, in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from assistant.services.eventlog.log import Entry, ThreadLog, Writer

# A thread without readers and writers is dropped after this time, or sooner if all threads exceed MAX_TOTAL_BYTES.
# Readers then get a snapshot from the database.
IDLE_SECONDS = 600.0
MAX_TOTAL_BYTES = 256 * 1024 * 1024
SWEEP_INTERVAL_SECONDS = 10.0


class MemoryWriter:
    """Appends each event to the thread's log at once."""

    failure: Exception | None = None

    def __init__(self, log: ThreadLog) -> None:
        self._log = log
        log.writers.add(self)

    def write(self, entry: Entry) -> None:
        self._log.append((entry,))

    def keep_events(self) -> None:
        return

    async def flush(self) -> None:
        return


class MemoryLog:
    """An event log that only this process can read."""

    survives_process = False
    is_writable = True

    def __init__(self) -> None:
        self._threads: dict[str, ThreadLog] = {}
        self._swept_at = time.monotonic()

    def thread(self, thread: str) -> ThreadLog:
        """Return the thread's log, a new one if there is none."""
        log = self._threads.get(thread)
        if log is None:
            log = self._threads[thread] = ThreadLog()
        return log

    async def start(self) -> None:
        """Do nothing."""

    def reset(self, thread: str) -> None:
        """Start a new log for the thread. Readers of the old one keep it."""
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
        self.sweep()
        return log

    async def drop_idle_threads(self) -> None:
        self.sweep()

    async def publish_change(self, thread: str, what: str) -> None:
        self.notify_change(thread, what)

    def notify_change(self, thread: str, what: str) -> None:
        """Wake the thread's readers in this process."""
        log = self._threads.get(thread)
        if log is not None:
            log.notify_change(what)

    async def publish_control(self, message: str) -> None:
        """Do nothing; there is no other process."""

    def size(self) -> tuple[int, int]:
        logs = list(self._threads.values())
        return len(logs), sum(log.bytes for log in logs)

    async def close(self) -> None:
        self._threads.clear()

    def forget(self, threads: Sequence[str]) -> None:
        for thread in threads:
            self._threads.pop(thread, None)

    def sweep(self) -> list[str]:
        """Drop threads that have been idle for `IDLE_SECONDS`, or exceed `MAX_TOTAL_BYTES` together.

        Does so at most once in `SWEEP_INTERVAL_SECONDS`.

        Returns:
            The threads that were dropped.
        """
        now = time.monotonic()
        if now - self._swept_at < SWEEP_INTERVAL_SECONDS:
            return []
        self._swept_at = now
        total = sum(log.bytes for log in self._threads.values())
        unused = [(log.used_at, thread, log) for thread, log in self._threads.items() if not log.is_in_use]
        dropped = []
        for used_at, thread, log in sorted(unused, key=lambda entry: entry[0]):
            if now - used_at <= IDLE_SECONDS and total <= MAX_TOTAL_BYTES:
                break
            total -= log.bytes
            del self._threads[thread]
            dropped.append(thread)
        return dropped
