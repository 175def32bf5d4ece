"""Calls that end after their time.

Python cannot stop the threads of sync tools, and async tools can ignore that they were stopped, or wait for threads and
shielded tasks that go on. All of these may still take effect.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable, MutableSequence, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from assistant.core.extensions.interceptors import Invocation, ToolInterceptor, invoke
from assistant.core.toolcalls.protocols import Journal, LateJournal, PlannedCall, RunTakenOver, ToolOutcome
from assistant.core.toolcalls.replay import EFFECT_UNKNOWN
from assistant.core.values.events import Custom, Event
from assistant.toolkit import InvalidTool, ToolContext, ToolError, ToolResult
from assistant.toolkit.calls.results import cut
from assistant.toolkit.calls.stopping import stop
from assistant.toolkit.errors import errors_in, told_by
from assistant.toolkit.logs import log_extra
from assistant.toolkit.text import clean_text

logger = logging.getLogger(__name__)

# What a late end says of a tool that was stopped and only reads.
STOPPED = "It was stopped."
# Tasks that record late outcomes; asyncio itself keeps only weak references to tasks.
_recording: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True)
class Attempt:
    """How the run of a tool has ended: its result, or what it raised."""

    result: ToolResult = field(default_factory=ToolResult)
    error: BaseException | None = None


async def attempt(invocation: Invocation, interceptors: Sequence[ToolInterceptor]) -> Attempt:
    """Run a tool with interceptors around it. Raises `CancelledError` alone."""
    try:
        result = await invoke(invocation, interceptors)
        if result.pending is not None and invocation.context.own_callback is None:
            name = invocation.tool.name
            raise InvalidTool(f"Tool {name!r} returned Pending, and is not declared with waits=True.")
    except (Exception, SystemExit) as exc:  # a task that raises the latter would end the event loop
        taken_over = next((one for one in errors_in(exc) if isinstance(one, RunTakenOver)), None)
        return Attempt(error=taken_over or told_by(exc))
    return Attempt(result)


class LateCall:
    """A call that may end after its time.

    Args:
        initial: the outcome as far as it is known before the call.
        events: gets the event of the late end.
        grace: how many seconds the tool may take to clean up.

    Attributes:
        is_over: whether the call has its outcome; the run does not listen to the tool any more.
    """

    def __init__(
        self,
        planned: PlannedCall,
        initial: ToolOutcome,
        *,
        journal: Journal,
        events: MutableSequence[Event],
        context: ToolContext,
        grace: float,
    ) -> None:
        self._planned, self._initial = planned, initial
        self._journal, self._events, self._context = journal, events, context
        self._grace = grace
        self._left: Future[Any] | asyncio.Task[Attempt] | None = None
        self._late: Attempt | None = None
        self._began = time.perf_counter()
        self.is_over = False

    async def in_time(self, work: asyncio.Task[Attempt], seconds: float | None) -> Attempt | None:
        """Wait for a tool for its time, and then stop it.

        Args:
            seconds: its time; None for any.

        Returns:
            How it has ended; None if it took longer than its time.

        Raises:
            CancelledError: the call was cancelled, and so is the tool.
        """
        try:
            await asyncio.wait({work}, timeout=seconds)
        except asyncio.CancelledError:
            if await self._stop(work) and not work.cancelled():
                return work.result()
            if self._left is not None:
                self._wait_for_end(self._left)
            raise
        if work.done():
            return work.result()
        if await self._stop(work) and not work.cancelled():
            ended = work.result()
            if ended.error is not None and not isinstance(ended.error, TimeoutError):
                return ended
            self._late = ended if ended.error is None else None
        return None

    async def _stop(self, work: asyncio.Task[Attempt]) -> bool:
        try:
            return await stop(work, self._grace)
        finally:
            if not work.done():
                self._left = work
                self._log("goes on %.3g seconds after it was stopped, and is not waited for", self._grace)

    def left_running(self, result: Future[Any]) -> None:
        """Note that the function of the call runs on in its thread."""
        self._left = result

    def timed_out(self, seconds: float) -> ToolOutcome:
        """Return the outcome of a call that took longer than its time, and wait for its late end."""
        sentence = f"The tool {self._planned.tool.name!r} took longer than {seconds:.3g} seconds"
        if self._late is not None:
            sentence += " and was not waited for. It has completed since: do not assume that it has failed."
            self._ended(self._late)
        elif self._left is None:
            sentence += self._stopped
        else:
            sentence += " and was not waited for. It still runs, and may complete: do not assume that it has failed."
            self._wait_for_end(self._left)
        return replace(self._initial, status="timeout", content=sentence, error=sentence)

    @property
    def _stopped(self) -> str:
        """What the model reads of a tool whose task has ended; threads and shielded tasks of it may go on unseen."""
        if self._planned.tool.read_only:
            return " and was stopped."
        return f" and was not waited for any longer. {EFFECT_UNKNOWN}"

    def _wait_for_end(self, left: Future[Any] | asyncio.Task[Attempt]) -> None:
        if isinstance(left, asyncio.Task):
            left.add_done_callback(lambda task: self._ended(None if task.cancelled() else task.result()))
        else:
            left.add_done_callback(_on_loop(lambda result: self._ended(_attempt_of(result))))

    def _ended(self, late: Attempt | None) -> None:
        """Record the late end, and emit its event if the run still goes on. None: the tool was stopped after all."""
        outcome = self._outcome(late)
        self._log("ended %.3g seconds after its beginning (%s)", outcome.duration_ms / 1000, outcome.status)
        value: dict[str, Any] = {
            "toolCallId": outcome.call.id,
            "name": outcome.call.name,
            "status": outcome.status,
            "durationMs": outcome.duration_ms,
            "content": outcome.content,
        }
        self._events.append(Custom("tool.late", value))
        task = asyncio.get_running_loop().create_task(self._record(outcome), name="late-call")
        _recording.add(task)
        task.add_done_callback(_recording.discard)

    def _outcome(self, late: Attempt | None) -> ToolOutcome:
        milliseconds = round((time.perf_counter() - self._began) * 1000)
        ended = replace(self._initial, duration_ms=milliseconds)
        if late is None:
            if self._planned.tool.read_only:
                return replace(ended, status="cancelled", content=STOPPED, error=STOPPED)
            return replace(ended, status="unknown", content=EFFECT_UNKNOWN, error=EFFECT_UNKNOWN)
        if late.error is not None:
            exc = late.error
            text = clean_text(cut(str(exc))) if isinstance(exc, ToolError) else type(exc).__name__
            return replace(ended, status="error", content=text, error=text)
        content, is_error = clean_text(late.result.content), late.result.is_error
        return replace(
            ended,
            status="error" if is_error else "ok",
            content=content,
            error=content if is_error else "",
            full=clean_text(late.result.full),
        )

    def _log(self, what: str, *values: Any) -> None:
        name, run_id = self._planned.tool.name, self._context.run_id
        logger.warning("Tool %s of run %s %s", name, run_id, what % values, extra=log_extra(self._context))

    async def _record(self, outcome: ToolOutcome) -> None:
        if not isinstance(self._journal, LateJournal):
            return
        try:
            await self._journal.ended_late(outcome)
        except Exception:
            extra = log_extra(self._context)
            logger.exception("The late end of call %s could not be recorded", outcome.call.id, extra=extra)


def _attempt_of(result: Future[Any]) -> Attempt:
    """Return how the function of a sync tool has ended."""
    if (exc := result.exception()) is not None:
        return Attempt(error=told_by(exc))
    value = result.result()
    # Anything else is an awaitable, which nobody awaits any more.
    return Attempt(value) if isinstance(value, ToolResult) else Attempt()


def _on_loop(function: Callable[[Future[Any]], None]) -> Callable[[Future[Any]], None]:
    """Return a callback for any thread that calls `function` on the loop of the caller and in its context."""
    # Queries are limited to the tenant of the context, and the thread has none.
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()

    def call(result: Future[Any]) -> None:
        try:
            loop.call_soon_threadsafe(function, result, context=context)
        except RuntimeError:  # the process ends
            logger.info("A call ended after its event loop")

    return call
