"""The log of runs' events: what every attached client reads, each from its own position.

A position is (run number within the thread, event number within the run). One process writes a run; any process reads.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, Protocol
from weakref import WeakSet

import msgspec

# A thread keeps this much; whoever falls further behind is caught up with a fresh picture.
MAX_BYTES = 8 * 1024 * 1024
# Between the row of a run and its first event lie milliseconds.
BEGIN_SECONDS = 2.0

ENDINGS = ('{"type":"RUN_FINISHED"', '{"type":"RUN_ERROR"')


class Position(NamedTuple):
    """A place in a thread's log: after event `seq` of its run `number`; `seq` 0 is before its first event."""

    number: int
    seq: int


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One numbered event, as the text frame that clients get.

    Hundreds of thousands of them are kept, which refer to nothing: the garbage collector is not to look at them.
    """

    number: int
    seq: int
    frame: str

    @property
    def position(self) -> Position:
        return Position(self.number, self.seq)

    @property
    def is_end(self) -> bool:
        """Whether it is the last event of its run."""
        return self.frame.startswith(ENDINGS)


Take = Callable[[Sequence[Entry]], bool]


def is_at_or_before(entry: Entry, place: Position | Entry) -> bool:
    """Whether the event stands at `place` or before it."""
    return entry.number < place.number or (entry.number == place.number and entry.seq <= place.seq)


def follows(entry: Entry, last: Position | Entry | None) -> bool:
    """Whether nothing can lie between `last` and `entry`."""
    if last is None or entry.number > last.number:
        return entry.seq == 1
    return entry.number == last.number and entry.seq == last.seq + 1


class Fenced(Exception):
    """Somebody else has written at this position: the writer has lost its run."""


class ThreadLog:
    """The events of one thread in memory, oldest first, bounded; readers wait on `changed`."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self.bytes = 0
        self._waiters: dict[asyncio.Event, Take | None] = {}
        # Those of running runs, kept weakly: a silent run must find its log again.
        self.writers: WeakSet[Writer] = WeakSet()
        self.touched_at = time.monotonic()
        # How often word has come that the thread's summary is another.
        self.summaries = 0

    def append(self, entries: Sequence[Entry]) -> None:
        # Once for each token of every answer: nothing is made to compare.
        kept = self._entries
        last = kept[-1] if kept else None
        for entry in entries:
            if not follows(entry, last):
                if last is not None and is_at_or_before(entry, last):
                    continue
                # Something between is unknown here: what is older can no longer catch anybody up.
                kept.clear()
                self.bytes = 0
            kept.append(entry)
            self.bytes += len(entry.frame)
            last = entry
        while self.bytes > MAX_BYTES and len(self._entries) > 1:
            self.bytes -= len(self._entries.popleft().frame)
        self.touched_at = time.monotonic()
        for waiter, take in self._waiters.items():
            if take is None or not take(entries):
                waiter.set()

    def note_summary(self) -> None:
        """Word has come that the thread's summary is another."""
        self.summaries += 1
        for waiter in self._waiters:
            waiter.set()

    def forget_before(self, number: int) -> None:
        """Drop the events of runs older than `number`."""
        while self._entries and self._entries[0].number < number:
            self.bytes -= len(self._entries.popleft().frame)

    def forget_after(self, end: Position) -> None:
        """Drop the events of a run that come after its end; with whatever else stands in the end's own place."""
        last = self._entries[-1] if self._entries else None
        if last is not None and last.position >= end and not (last.position == end and last.is_end):
            while self._entries and not is_at_or_before(self._entries[-1], Position(end.number, end.seq - 1)):
                self.bytes -= len(self._entries.pop().frame)

    @property
    def last(self) -> Position | None:
        return self._entries[-1].position if self._entries else None

    def lacks_end_of(self, number: int) -> bool:
        """Whether the last event is one of run `number`, and not its end."""
        return bool(self._entries) and self._entries[-1].number == number and not self._entries[-1].is_end

    @property
    def is_watched(self) -> bool:
        return bool(self._waiters)

    @property
    def is_in_use(self) -> bool:
        """Whether somebody reads it, or works on a run that writes to it."""
        return bool(self._waiters or self.writers)

    async def begun(self, number: int) -> None:
        """Wait for the first event of a run that was opened in this moment; not for long, its process may be gone."""
        with self.watching() as changed, suppress(TimeoutError):
            async with asyncio.timeout(BEGIN_SECONDS):
                while self.last is None or self.last.number < number:
                    changed.clear()
                    await changed.wait()

    def holds(self, after: Position) -> bool:
        """Whether every event since `after` is still here."""
        if not self._entries:
            return False
        first = self._entries[0]
        if first.number == after.number:
            return first.seq <= after.seq + 1
        return first.number < after.number and self._entries[-1].number >= after.number

    def read(self, after: Position) -> list[Entry]:
        """The events after a position, oldest first; costs what it returns, not what the log holds."""
        found: list[Entry] = []
        for entry in reversed(self._entries):
            if is_at_or_before(entry, after):
                break
            found.append(entry)
        found.reverse()
        return found

    @contextmanager
    def watching(self, take: Take | None = None) -> Iterator[asyncio.Event]:
        """An event that is set whenever something was appended, or the summary is another.

        What was appended is offered to `take` first, and if that says it is done with it, the event is not set.
        """
        waiter = asyncio.Event()
        self._waiters[waiter] = take
        try:
            yield waiter
        finally:
            del self._waiters[waiter]


class Writer(Protocol):
    """One run's way into the log; `failure` says why nothing can be written any more, if that is so."""

    failure: Exception | None

    def write(self, entry: Entry) -> None:
        """Add an event; what is written while an earlier write is under way goes along with the next."""

    async def flush(self) -> None:
        """Wait until all that was written can be read by everybody.

        Raises:
            Fenced: another process has written in this place.
            Exception: the log stayed away for longer than it is waited for.
        """


class EventLog(Protocol):
    """Where runs' events are kept, in memory or in Redis.

    `survives_process`: whether they are there for whoever finishes the runs of a process that was killed.
    """

    survives_process: bool

    async def start(self) -> None:
        """Prepare for writing, and listen for what other processes write. Called once, before the first run."""

    def writer(self, thread: str, on_failure: Callable[[], object]) -> Writer:
        """A run's writer; `on_failure` is called if its events cannot be kept any more."""

    async def open(self, thread: str) -> ThreadLog:
        """The thread's log with all that is known of it; kept up to date while somebody watches it."""

    async def open_for_recovery(self, thread: str, number: int) -> ThreadLog:
        """As `open`, with what a process that died had written of its run `number`."""

    async def start_run(self, thread: str, number: int) -> ThreadLog:
        """Make room: of the runs before `number` only the last one is kept. Returns what is known of the thread.

        A first run begins a new log: readers of a deleted conversation that had the same id see nothing of it.
        """

    async def tidy(self) -> None:
        """Let go of threads that nobody has read or written for long; looks once in a while."""

    async def publish_summary_change(self, thread: str) -> None:
        """Tell the thread's readers, in every process, that its summary is another; a hint that may be lost."""

    async def publish_control(self, message: str) -> None:
        """Tell every other process something; a hint that may be lost."""

    def forget(self, threads: Sequence[str]) -> None:
        """Delete the stored events of these threads, when their conversations are deleted.

        Works without an event loop and without `start`, so that commands and the admin can use a log of their own.
        Events that another process holds in memory stay there until it drops the idle thread.
        """

    def size(self) -> tuple[int, int]:
        """How many threads this process holds in memory, and how many bytes they take."""

    async def close(self) -> None:
        """Let go of connections."""
