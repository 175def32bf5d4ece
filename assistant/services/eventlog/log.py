"""The event log: the numbered events of runs, which every attached client reads from its own position.

A position is (run number within the thread, event number within the run). One process writes the events of a run; every
process can read them.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, Protocol
from weakref import WeakSet

import msgspec

# Bytes of events that are kept for each thread. A client that is further behind gets a snapshot instead.
MAX_BYTES = 8 * 1024 * 1024
# A run's first event is written milliseconds after its row, unless its process died in between.
FIRST_EVENT_WAIT_SECONDS = 2.0

# The changes that readers are notified of besides events; optional apps add others.
CHANGES = (SUMMARY, PATH) = ("summary", "path")

LAST_EVENTS = ('{"type":"RUN_FINISHED"', '{"type":"RUN_ERROR"')


class Position(NamedTuple):
    """A position in a thread's log: after event `seq` of run `number`. `seq` 0 is before the run's first event."""

    number: int
    seq: int


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One numbered event, as the text frame that clients receive.

    `gc=False`, because hundreds of thousands of entries are kept and the garbage collector would visit each.
    """

    number: int
    seq: int
    frame: str

    @property
    def position(self) -> Position:
        return Position(self.number, self.seq)

    @property
    def is_end(self) -> bool:
        """Whether this is the last event of its run."""
        return self.frame.startswith(LAST_EVENTS)


def is_at_or_before(entry: Entry, position: Position | Entry) -> bool:
    """Whether the event is at `position` or before it."""
    return entry.number < position.number or (entry.number == position.number and entry.seq <= position.seq)


def follows(entry: Entry, last: Position | Entry | None) -> bool:
    """Whether `entry` is the event directly after `last`."""
    if last is None or entry.number > last.number:
        return entry.seq == 1
    return entry.number == last.number and entry.seq == last.seq + 1


class Fenced(Exception):
    """Another process has written at this position: it has taken the run over, and this writer must stop."""


class ThreadLog:
    """The newest events of one thread in memory, oldest first, up to `MAX_BYTES`.

    Attributes:
        bytes: the size of the events' frames.
        writers: the writers of running runs. Weak references, so that a run that writes nothing keeps its log.
        used_at: when something was last appended, on the monotonic clock.
        changes: how often each of `CHANGES` has changed, such as the thread's summary and its shown path.
    """

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self.bytes = 0
        self._waiters: set[asyncio.Event] = set()
        self.writers: WeakSet[Writer] = WeakSet()
        self.used_at = time.monotonic()
        self.changes = defaultdict[str, int](int)

    def append(self, entries: Sequence[Entry]) -> None:
        """Add events and notify the readers; events that the log holds already are ignored."""
        # Called for each token of every answer, so it compares positions without creating any.
        kept = self._entries
        last = kept[-1] if kept else None
        for entry in entries:
            if last is None or entry.number > last.number:
                is_next = entry.seq == 1
            else:
                is_next = entry.number == last.number and entry.seq == last.seq + 1
            if not is_next:
                if last is not None and is_at_or_before(entry, last):
                    continue
                # Events in between are missing, so the older ones are of no use to a reader any more.
                kept.clear()
                self.bytes = 0
            kept.append(entry)
            self.bytes += len(entry.frame)
            last = entry
        while self.bytes > MAX_BYTES and len(self._entries) > 1:
            self.bytes -= len(self._entries.popleft().frame)
        self.used_at = time.monotonic()
        for waiter in self._waiters:
            waiter.set()

    def notify_change(self, what: str) -> None:
        """Wake the readers, because one of `CHANGES` has changed."""
        self.changes[what] += 1
        for waiter in self._waiters:
            waiter.set()

    def forget_before(self, number: int) -> None:
        """Drop the events of runs older than `number`."""
        while self._entries and self._entries[0].number < number:
            self.bytes -= len(self._entries.popleft().frame)

    def forget_after(self, end: Position) -> None:
        """Drop events of a run at or after the position of its `end`, unless the last event is that end."""
        last = self._entries[-1] if self._entries else None
        if last is not None and last.position >= end and not (last.position == end and last.is_end):
            while self._entries and not is_at_or_before(self._entries[-1], Position(end.number, end.seq - 1)):
                self.bytes -= len(self._entries.pop().frame)

    @property
    def last(self) -> Position | None:
        """The position of the newest event; None if there is none."""
        return self._entries[-1].position if self._entries else None

    def lacks_end_of(self, number: int) -> bool:
        """Whether the log ends with an event of run `number` that is not the run's last."""
        return bool(self._entries) and self._entries[-1].number == number and not self._entries[-1].is_end

    @property
    def is_watched(self) -> bool:
        return bool(self._waiters)

    @property
    def is_in_use(self) -> bool:
        """Whether the log has a reader or a writer."""
        return bool(self._waiters or self.writers)

    async def wait_for_run(self, number: int) -> None:
        """Wait for an event of run `number`, which was opened just now, for up to `FIRST_EVENT_WAIT_SECONDS`."""
        with self.watching() as changed, suppress(TimeoutError):
            async with asyncio.timeout(FIRST_EVENT_WAIT_SECONDS):
                while self.last is None or self.last.number < number:
                    changed.clear()
                    await changed.wait()

    def holds(self, after: Position) -> bool:
        """Whether the log has every event after this position."""
        if not self._entries:
            return False
        first = self._entries[0]
        if first.number == after.number:
            return first.seq <= after.seq + 1
        return first.number < after.number and self._entries[-1].number >= after.number

    def read(self, after: Position) -> list[Entry]:
        """Return the events after a position, oldest first. The cost depends on what is returned, not on the log."""
        found: list[Entry] = []
        for entry in reversed(self._entries):
            if is_at_or_before(entry, after):
                break
            found.append(entry)
        found.reverse()
        return found

    @contextmanager
    def watching(self) -> Iterator[asyncio.Event]:
        """Yield an `asyncio.Event` that is set when events are appended or something else changes."""
        waiter = asyncio.Event()
        self._waiters.add(waiter)
        try:
            yield waiter
        finally:
            self._waiters.remove(waiter)


class Writer(Protocol):
    """Writes the events of one run. `failure` is the exception after which nothing is written any more, or None."""

    failure: Exception | None

    def write(self, entry: Entry) -> None:
        """Add an event, without waiting until it is stored."""

    def keep_events(self) -> None:
        """Keep the run's events although it has ended, because the database could not store the run."""

    async def flush(self) -> None:
        """Wait until all processes can read the events written so far.

        Raises:
            Fenced: another process has written at one of their positions.
            Exception: the log could not be reached for too long.
        """


class EventLog(Protocol):
    """Stores the events of runs: in memory, in files or in Redis.

    Attributes:
        survives_process: whether another process can read the events of a process that was killed.
    """

    survives_process: bool

    @property
    def is_writable(self) -> bool:
        """Whether new runs may be opened: False while Redis is known to refuse writes."""

    async def start(self) -> None:
        """Prepare for writing, and listen to other processes. Called once, before the first run."""

    def writer(self, thread: str, on_failure: Callable[[], object]) -> Writer:
        """Return the writer of a run. `on_failure` is called when its events cannot be stored any more."""

    async def open(self, thread: str) -> ThreadLog:
        """Return the thread's log with all stored events. It is updated while it has readers."""

    async def open_for_recovery(self, thread: str, number: int) -> ThreadLog:
        """Return the thread's log with the events that a process that died had written of its run `number`."""

    async def start_run(self, thread: str, number: int) -> ThreadLog:
        """Prepare for run `number`, and return the thread's log.

        Of earlier runs only the last one is kept. The first run starts a new log, so that readers of a deleted
        conversation with the same id see nothing of it.
        """

    async def drop_idle_threads(self) -> None:
        """Free the memory of threads that have not been used for a while; most calls do nothing."""

    async def publish_change(self, thread: str, what: str) -> None:
        """Notify the thread's readers in every process of a change, one of `CHANGES`. May be lost."""

    async def publish_control(self, message: str) -> None:
        """Send a message to every other process. May be lost."""

    def forget(self, threads: Sequence[str]) -> None:
        """Delete the stored events of these threads, when their conversations are deleted.

        Works without an event loop and without `start`, so that commands and the admin can use a log of their own.
        Events that another process holds in memory stay there until it drops the idle thread.
        """

    def size(self) -> tuple[int, int]:
        """Return the number of threads in this process's memory, and the bytes of their events."""

    async def close(self) -> None:
        """Close connections."""
