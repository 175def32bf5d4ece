"""Calls of sync tools that end after their time: Python cannot stop their threads, so they may still take effect."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable, MutableSequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from assistant.core.toolcalls.protocols import Journal, LateJournal, PlannedCall, ToolOutcome
from assistant.core.values.events import Custom, Event
from assistant.toolkit import ToolContext, ToolError, ToolResult
from assistant.toolkit.calls.results import cut
from assistant.toolkit.logs import log_extra
from assistant.toolkit.text import clean_text

logger = logging.getLogger(__name__)

# Tasks that record late outcomes; asyncio itself keeps only weak references to tasks.
_recording: set[asyncio.Task[None]] = set()


class LateCall:
    """A call that may end after its time.

    Args:
        initial: the outcome as far as it is known before the call.
        events: gets the event of the late end.
    """

    def __init__(
        self,
        planned: PlannedCall,
        initial: ToolOutcome,
        *,
        journal: Journal,
        events: MutableSequence[Event],
        context: ToolContext,
    ) -> None:
        self._planned, self._initial = planned, initial
        self._journal, self._events, self._context = journal, events, context
        self._left: Future[Any] | None = None
        self._began = time.perf_counter()

    def left_running(self, result: Future[Any]) -> None:
        """Note that the function of the call runs on in its thread."""
        self._left = result

    def timed_out(self, seconds: float) -> ToolOutcome:
        """Return the outcome of a call that took longer than its time, and wait for its late end."""
        sentence = f"The tool {self._planned.tool.name!r} took longer than {seconds:.3g} seconds"
        if self._left is None:
            sentence += " and was stopped."
        else:
            sentence += " and was not waited for. It still runs, and may complete: do not assume that it has failed."
            self._left.add_done_callback(_on_loop(self._ended))
        return replace(self._initial, status="timeout", content=sentence, error=sentence)

    def _ended(self, result: Future[Any]) -> None:
        """Record the late end, and emit its event if the run still goes on."""
        outcome = self._outcome(result)
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

    def _outcome(self, result: Future[Any]) -> ToolOutcome:
        milliseconds = round((time.perf_counter() - self._began) * 1000)
        ended = replace(self._initial, duration_ms=milliseconds)
        exc = result.exception()
        if exc is not None:
            text = clean_text(cut(str(exc))) if isinstance(exc, ToolError) else type(exc).__name__
            return replace(ended, status="error", content=text, error=text)
        value = result.result()
        # Anything else is an awaitable, which nobody awaits any more.
        content = value.content if isinstance(value, ToolResult) else ""
        is_error = isinstance(value, ToolResult) and value.is_error
        full = value.full if isinstance(value, ToolResult) else ""
        return replace(
            ended,
            status="error" if is_error else "ok",
            content=clean_text(content),
            error=clean_text(content) if is_error else "",
            full=clean_text(full),
        )

    async def _record(self, outcome: ToolOutcome) -> None:
        if not isinstance(self._journal, LateJournal):
            return
        try:
            await self._journal.ended_late(outcome)
        except Exception:
            extra = log_extra(self._context)
            logger.exception("The late end of call %s could not be recorded", outcome.call.id, extra=extra)


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
