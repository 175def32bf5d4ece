"""The gate for functions that a tool's author, a host project or a caller hands in.

An async function is awaited on the event loop. Any other runs in a thread, where it may query the database, and what it
returns is awaited if it can be. Each has a bounded time, and its answer must be of the expected type: else there is no
answer, and the caller of the gate does what is safe.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from assistant.toolkit.calls.handed_in import (
    CHECK_SECONDS,
    Answer,
    HandedIn,
    NoAnswer,
    awaited_answer,
    call_here,
    checked_answer,
    discard,
    note_hanging,
)
from assistant.toolkit.calls.worker_threads import in_thread, is_async, on_left_running

__all__ = ["Answer", "HandedIn", "NoAnswer", "ask", "ask_all", "ask_from_thread", "ask_here", "called"]

# The time of all functions that are asked together.
TOGETHER_SECONDS = 15.0


# Functions that are asked one after the other, each only if the one before has answered True.
Chain = Sequence[HandedIn]


async def ask(asked: HandedIn) -> Answer:
    """Call a function that was handed in, and return its answer."""
    return (await ask_all([[asked]]))[0][0]


async def ask_all(chains: Sequence[Chain]) -> list[list[Answer]]:
    """Call chains of functions, and return the answers of each.

    All sync functions run in one thread, one after the other, so that many cheap ones cost little. The chains that have
    async functions then go on at the same time.
    """
    work = [_Asking(chain) for chain in chains]
    seconds = max((one.limit for chain in chains for one in chain), default=0.0)
    until = time.monotonic() + max(TOGETHER_SECONDS, seconds)
    await _ask_in_thread(work, until)
    if rest := [asking for asking in work if not asking.is_over]:
        await asyncio.gather(*(asking.go_on(until) for asking in rest))
    return [asking.answers for asking in work]


def ask_from_thread(asked: HandedIn) -> Answer:
    """Call a function that was handed in, as `ask` does, from a thread without an event loop."""
    return asyncio.run(ask(asked))


def ask_here(chain: Chain) -> list[Answer]:
    """Call a chain of functions in this thread, for code without an event loop; their time has no bound here.

    Where a loop runs, an awaitable cannot be awaited and is no answer.
    """
    asking = _Asking(chain)
    while (asked := asking.next) is not None:
        answer = call_here(asked)
        if inspect.isawaitable(answer.value) and not _has_loop():
            answer = asyncio.run(awaited_answer(answer))
        asking.answers.append(checked_answer(answer))
    return asking.answers


async def called(asked: HandedIn) -> Any:
    """Call a function that was handed in, for as long as its caller waits if its time is infinite; return its value.

    Raises:
        NoAnswer: it gave none.
        Exception: what it raised.
    """
    if math.isinf(asked.limit) and is_async(asked.function):
        value = asked.function(*asked.arguments)
        value = await value if inspect.isawaitable(value) else value
        return checked_answer(Answer(asked, value)).result()
    return (await ask(asked)).result()


class _Asking:
    """A chain that is being asked, with the answers so far. An awaitable that a sync function returned is awaited."""

    __slots__ = ("answers", "chain")

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.answers: list[Answer] = []

    @property
    def next(self) -> HandedIn | None:
        """The function to ask now; None at the end."""
        if len(self.answers) == len(self.chain) or (self.answers and not self.answers[-1].is_yes):
            return None
        return self.chain[len(self.answers)]

    @property
    def is_over(self) -> bool:
        return self.next is None and not (self.answers and inspect.isawaitable(self.answers[-1].value))

    async def go_on(self, until: float) -> None:
        """Ask the rest, on the event loop or in threads."""
        while not self.is_over:
            if self.next is None:
                self.answers[-1] = await awaited_answer(self.answers[-1])
            elif is_async(self.next.function):
                self.answers.append(await awaited_answer(call_here(self.next)))
            else:
                await _ask_in_thread([self], until)


class _Round:
    """One job of a thread: it asks what is next in each chain, up to functions that are async.

    A thread is waited for as long as the slowest of the first functions may take.
    """

    def __init__(self, work: Sequence[_Asking]) -> None:
        self._work = work
        self._start_seconds = max(one.next.limit for one in work if one.next is not None)
        self._lock = threading.Lock()
        self._current: tuple[_Asking, HandedIn] | None = None
        self._since = time.monotonic()
        self._over = threading.Event()

    @property
    def is_quick(self) -> bool:
        return self._start_seconds <= CHECK_SECONDS

    def run(self) -> None:
        for asking in self._work:
            while (asked := asking.next) is not None and not is_async(asked.function):
                with self._lock:
                    if self._over.is_set():
                        return
                    self._current = asking, asked
                    self._since = time.monotonic()
                answer = call_here(asked)
                # Some awaitables may only be touched on the event loop.
                answer = answer if inspect.isawaitable(answer.value) else checked_answer(answer)
                with self._lock:
                    if self._over.is_set():
                        discard(answer.value)
                        return
                    asking.answers.append(answer)
        with self._lock:
            self._over.set()
            self._current = None

    def seconds_left(self, until: float) -> float:
        """Return how long the current function may still take, or a thread may be waited for."""
        with self._lock:
            seconds = self._start_seconds if self._current is None else self._current[1].limit
            return min(self._since + seconds, until) - time.monotonic()

    def stop(self, until: float) -> bool:
        """End the round if its time is over, and settle what took too long. Return whether it did."""
        with self._lock:
            seconds = self._start_seconds if self._current is None else self._current[1].limit
            taken = time.monotonic() - self._since
            if self._over.is_set() or (taken < seconds and time.monotonic() < until):
                return False
            self._over.set()
            if self._current is None:
                _refuse(self._work, "was not asked: no thread was free")
            else:
                asking, asked = self._current
                asking.answers.append(Answer(asked, problem=f"took longer than {taken:.1f} s", seconds=taken))
            return True

    def abandon(self) -> None:
        """End the round, because nobody waits for it any more."""
        with self._lock:
            self._over.set()

    def left_running(self, job: Future[Any]) -> None:
        if self._current is not None and math.isfinite(self._current[1].limit):
            note_hanging(self._current[1], job)


async def _ask_in_thread(work: Iterable[_Asking], until: float) -> None:
    """Ask the sync functions that are next, until all have answered or taken too long."""
    while rest := [one for one in work if one.next is not None and not is_async(one.next.function)]:
        if time.monotonic() >= until:
            _refuse(rest, "was not asked: there was no time left")
            return
        round_ = _Round(rest)
        token = on_left_running.set(round_.left_running)
        job = asyncio.create_task(in_thread(round_.run, is_quick=round_.is_quick))
        on_left_running.reset(token)
        try:
            while not job.done() and not round_.stop(until):
                left = max(round_.seconds_left(until), 0.001)
                await asyncio.wait([job], timeout=left if math.isfinite(left) else None)
        except asyncio.CancelledError:
            round_.abandon()
            job.cancel()
            raise
        if job.done():
            job.result()
        else:
            job.cancel()


def _refuse(work: Iterable[_Asking], problem: str) -> None:
    for asking in work:
        if (asked := asking.next) is not None:
            asking.answers.append(Answer(asked, problem=problem))


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
