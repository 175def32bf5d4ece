"""The gate for functions that a tool's author, a host project or a caller hands in.

An async function is awaited on the event loop. Any other runs in a thread, where it may query the database, and what it
returns is awaited if it can be. Each has a bounded time, and its answer must be of the expected type: else there is no
answer, and the caller of the gate does what is safe.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from assistant.toolkit.calls.stopping import GRACE_SECONDS, stop
from assistant.toolkit.calls.worker_threads import in_thread, is_async, on_left_running
from assistant.toolkit.context import ToolContext, home_loop
from assistant.toolkit.errors import ToolsError
from assistant.toolkit.logs import log_extra
from assistant.toolkit.text import is_lazy

logger = logging.getLogger(__name__)

# The time of one function.
CHECK_SECONDS = 5.0
# What a thread waits for an awaitable that a function has returned there.
THREAD_SECONDS = 60.0
# While so many calls of a function run on after their time, it is not called again.
MAX_HANGING = 2


# Notes that something goes on without being waited for; returns what notes its end, in any thread.
OnLeft = Callable[[str], Callable[[], None]]


class NoAnswer(ToolsError):
    """A function that was handed in has given no answer; the message names it and says why, for the log."""


@dataclass(frozen=True, slots=True)
class HandedIn:
    """A function that was handed in, with the arguments of one call.

    Attributes:
        option: the name under which it was handed in, such as "available".
        owner: what it belongs to: the name of a tool, a class or a setting.
        kind: the type of its answer; None for any.
        seconds: the time that it has; None for `CHECK_SECONDS`, infinite for as long as the caller waits.
        grace: how many seconds it may take to clean up when its caller is cancelled.
        on_left: called with its label when it is not waited for any more; what it returns is called at its end.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    option: str
    owner: str = ""
    kind: type | None = None
    seconds: float | None = None
    grace: float = GRACE_SECONDS
    on_left: OnLeft | None = None

    @property
    def limit(self) -> float:
        """The time that it has, in seconds."""
        return CHECK_SECONDS if self.seconds is None else self.seconds

    @property
    def label(self) -> str:
        return f"{self.owner}.{self.option} ({self.function_name})"

    @property
    def function_name(self) -> str:
        """The function's own name; that of the option if it has none, as a lambda."""
        name = str(getattr(self.function, "__name__", "") or type(self.function).__name__)
        return self.option if name in {"<lambda>", "partial"} else name


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function has answered.

    Attributes:
        problem: why there is no answer, as the rest of a sentence that begins with the function; else empty.
        error: what it raised.
        seconds: how long it took.
    """

    asked: HandedIn
    value: Any = None
    problem: str = ""
    error: BaseException | None = None
    seconds: float = 0.0

    @property
    def is_yes(self) -> bool:
        return self.value is True and not self.problem

    def result(self) -> Any:
        """Return the value. Raises what the function raised, or `NoAnswer`."""
        if isinstance(self.error, Exception):
            raise self.error
        if self.problem:
            asked = self.asked
            name = f" ({asked.function_name})" if asked.function_name != asked.option else ""
            raise NoAnswer(f"{asked.owner or asked.function_name}: {asked.option}{name} {self.problem}") from self.error
        return self.value

    def report(self, consequence: str, context: ToolContext) -> None:
        """Log that there is no answer, and what follows from that; nothing if there is one."""
        if self.problem:
            values = (consequence, self.asked.option, self.asked.function_name, self.problem)
            logger.error("%s: its %s (%s) %s", *values, exc_info=self.error, extra=log_extra(context))


def positional_mistake(function: Any, count: int) -> str:
    """Return why a function cannot be called with so many positional arguments; empty if it can, or nobody knows."""
    if not callable(function):
        return f"is a {type(function).__name__}, not a function"
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # some built-in functions have none
        return ""
    try:
        signature.bind(*range(count))
    except TypeError:
        return f"must take {count} positional argument{'s' if count > 1 else ''}"
    return ""


def is_generator(function: Any) -> bool:
    """Whether a function, or an object with `__call__`, yields; its body does not run when it is called."""
    candidates = (function, getattr(function, "__call__", None))  # noqa: B004 - it is looked at, not for being there
    return any(inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one) for one in candidates)


def refuse_generator(value: object, label: str) -> None:
    """Raise `NoAnswer` for a generator in place of an answer: the body of the function has not run."""
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        raise NoAnswer(f"{label} gave a generator, so that it has checked nothing")


def refuse_async(function: Callable[..., Any], name: str) -> None:
    """Raise `TypeError` for an async function, where nothing can be awaited; `name` says what it was handed in as."""
    if is_async(function):
        raise TypeError(f"{name} is async, and is called where nothing can be awaited.")


def discard(value: object) -> None:
    """Give up an awaitable that nobody awaits, without a warning that it was never awaited."""
    if isinstance(value, Coroutine):
        value.close()
    elif isinstance(value, asyncio.Future):
        value.cancel()


def settled_in_thread(value: Any, name: str) -> Any:
    """Return what a function has returned in a thread; an awaitable is awaited on the event loop that the thread is of.

    Args:
        name: of the function, for the log.

    Raises:
        NoAnswer: the awaitable took longer than `THREAD_SECONDS`, or gave another one.
        Exception: what the awaitable raised.
    """
    if not inspect.isawaitable(value):
        return value

    async def awaited() -> Any:
        return await value

    home = home_loop.get(None)
    if home is None:
        settled = asyncio.run(awaited())
    else:
        waiting = asyncio.run_coroutine_threadsafe(awaited(), home)
        try:
            settled = waiting.result(THREAD_SECONDS)
        except TimeoutError as exc:
            if waiting.done():
                raise
            waiting.cancel()
            raise NoAnswer(f"{name} took longer than {THREAD_SECONDS:g} s") from exc
    if inspect.isawaitable(settled):
        discard(settled)
        raise NoAnswer(f"{name} gave an awaitable that gave another one")
    return settled


def call_here(asked: HandedIn) -> Answer:
    """Call a function in this thread. The answer is an awaitable if the function is async, or not checked yet."""
    if _hanging[asked.label] >= MAX_HANGING:
        return Answer(asked, problem=f"is not called: {MAX_HANGING} calls of it still run")
    began = time.perf_counter()
    try:
        value = asked.function(*asked.arguments)
    except (Exception, SystemExit, asyncio.CancelledError) as exc:
        return _raised(asked, exc, began)
    return Answer(asked, value, seconds=time.perf_counter() - began)


def _raised(asked: HandedIn, exc: BaseException, began: float) -> Answer:
    seconds = time.perf_counter() - began
    return Answer(asked, problem=f"raised {type(exc).__name__}", error=exc, seconds=seconds)


async def awaited_answer(answer: Answer) -> Answer:
    """Return the answer with its awaitable awaited, once; another one is unchanged."""
    if not inspect.isawaitable(answer.value):
        return checked_answer(answer)
    asked = answer.asked
    awaitable = answer.value
    began = time.perf_counter() - answer.seconds

    async def value_of() -> Any:
        return await awaitable

    try:
        if math.isinf(asked.limit):
            value = await awaitable
        else:
            # A task of its own, because a function can ignore its cancellation.
            task = asyncio.create_task(value_of(), name=f"tool-{asked.owner}")
            try:
                await asyncio.wait([task], timeout=max(asked.limit - answer.seconds, 0.0))
            except asyncio.CancelledError:
                await _stop(task, asked, asked.grace)
                raise
            if not task.done():
                await _stop(task, asked, 0.0)
                taken = time.perf_counter() - began
                return Answer(asked, problem=f"took longer than {taken:.1f} s", seconds=taken)
            value = task.result()
    except (Exception, SystemExit, asyncio.CancelledError) as exc:
        current = asyncio.current_task()
        if isinstance(exc, asyncio.CancelledError) and current is not None and current.cancelling():
            raise
        return _raised(asked, exc, began)
    return checked_answer(replace(answer, value=value, seconds=time.perf_counter() - began))


async def _stop(task: asyncio.Task[Any], asked: HandedIn, grace: float) -> None:
    try:
        await stop(task, grace)
    finally:
        if not task.done():
            note_hanging(asked, task)


def checked_answer(answer: Answer) -> Answer:
    """Return the answer; without a value, and with a problem, if it is none of the expected type."""
    value = answer.value
    kind = answer.asked.kind
    if inspect.isawaitable(value):
        discard(value)
        return replace(answer, value=None, problem="gave an awaitable that nothing can await here")
    if answer.problem or kind is None or isinstance(value, kind) or (kind is str and is_lazy(value)):
        return answer
    wanted = "True or False" if kind is bool else f"a {kind.__name__}"
    return replace(answer, value=None, problem=f"gave a {type(value).__name__}, not {wanted}")


_hanging: Counter[str] = Counter()
_hanging_lock = threading.Lock()


def note_hanging(asked: HandedIn, running: Future[Any] | asyncio.Task[Any]) -> None:
    """Count a call that runs on after its time, until it ends."""
    label = asked.label
    began = time.perf_counter()
    note_end = asked.on_left(label) if asked.on_left is not None else None

    def ended(finished: Any) -> None:
        with _hanging_lock:
            _hanging[label] -= 1
            if not _hanging[label]:
                del _hanging[label]
        if isinstance(finished, asyncio.Task) and not finished.cancelled():
            finished.exception()  # retrieved, so that asyncio does not log it
        if note_end is not None:
            note_end()
        logger.warning("%s ended %.3g seconds after it was given up", label, time.perf_counter() - began)

    with _hanging_lock:
        _hanging[label] += 1
    logger.warning("%s goes on after its time, and is not waited for", label)
    running.add_done_callback(ended)


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
