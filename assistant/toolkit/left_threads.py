"""Counts the threads that tools have started and that run on after their calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from weakref import WeakSet

from assistant.toolkit.carried_context import LOOP_POOL, PoolThread

# A tool may keep some, such as those of a client library. From this number on, and whenever it doubles, it is reported.
REPORTED_FROM = 10
# Threads of pools that belong to the event loop or the database, whichever tool made them start.
_SHARED_POOLS = (LOOP_POOL, "orm_")

Report = Callable[[str, int], None]
logger = logging.getLogger("assistant.loop")


def _log(tool: str, count: int) -> None:
    logger.warning("The tool %s has left %d threads running after its calls", tool, count)


class LeftThreads:
    """The threads that are left of each tool's calls.

    Attributes:
        report: called with a tool's name and the number of its threads; it logs them.
    """

    def __init__(self) -> None:
        self.report: Report = _log
        self._lock = threading.Lock()
        self._by_tool: dict[str, WeakSet[threading.Thread]] = {}
        self._next: dict[str, int] = {}

    def add(self, tool: str, threads: Iterable[threading.Thread]) -> None:
        """Note those of the threads of a call that still run after it."""
        with self._lock:
            left = self._by_tool.setdefault(tool, WeakSet())
            left.update(thread for thread in threads if thread.is_alive())
            for thread in [thread for thread in left if not thread.is_alive()]:
                left.discard(thread)
            count, due = len(left), self._next.get(tool, REPORTED_FROM)
            self._next[tool] = (
                max(REPORTED_FROM, 2 * count) if count >= due else min(due, max(REPORTED_FROM, 2 * count))
            )
        if count >= due:
            self.report(tool, count)

    def counts(self) -> dict[str, int]:
        """Return how many threads of each tool run after its calls, without tools that left none."""
        with self._lock:
            alive = {tool: sum(thread.is_alive() for thread in left) for tool, left in self._by_tool.items()}
        return {tool: count for tool, count in alive.items() if count}


left_threads = LeftThreads()
leave_threads = left_threads.add


def is_of_tool(thread: threading.Thread) -> bool:
    """Whether a thread that starts within a tool's call is the tool's own."""
    return not isinstance(thread, PoolThread) and not thread.name.startswith(_SHARED_POOLS)
