"""Runs one tool call: the function, on the loop or in a thread, with retries, and the result's conversion."""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Protocol

from assistant.toolkit.calls.handed_in import NoAnswer, discard
from assistant.toolkit.calls.json_values import WouldBlock
from assistant.toolkit.calls.results import ToolResult, drain, result_of
from assistant.toolkit.calls.worker_threads import in_thread
from assistant.toolkit.carriers import stepped
from assistant.toolkit.context import ToolContext, carriers_entered, current_call, use_context
from assistant.toolkit.errors import told_by
from assistant.toolkit.logs import log_operation

logger = logging.getLogger(__name__)

MAX_RETRY_DELAY_SECONDS = 30.0


class CallSettings(Protocol):
    """The attributes of a tool that a call needs; `definition.tool.Tool` has them."""

    @property
    def name(self) -> str: ...
    @property
    def is_async(self) -> bool: ...
    @property
    def atomic(self) -> bool: ...
    @property
    def retries(self) -> int: ...
    @property
    def retry_on(self) -> tuple[type[Exception], ...]: ...
    @property
    def retry_delay(self) -> float: ...
    @property
    def converter(self) -> Callable[[Any], Any] | None: ...


@dataclass(frozen=True, slots=True)
class _Pending:
    """An awaitable or async iterator that a sync function returned; it has to be awaited on the event loop."""

    value: Any


async def perform(
    tool: CallSettings, function: Callable[[], Any], context: ToolContext, seen: ToolContext
) -> ToolResult:
    """Call `function`, the tool's function bound to its arguments, and retry on the exceptions in `tool.retry_on`.

    Args:
        seen: the context that the tool gets (`as_tool_sees`).

    Raises:
        Exception: the exception of the last attempt.
    """
    began = time.perf_counter()
    for attempt in range(tool.retries + 1):
        try:
            result = await _once(tool, function, seen)
            _log_attempt(tool, context, began, "failed" if result.is_error else "succeeded")
            return result
        except tool.retry_on as exc:
            delay = min(tool.retry_delay * 2**attempt, MAX_RETRY_DELAY_SECONDS) * random.uniform(0.5, 1)  # noqa: S311 - jitter  # nosec B311
            _log_attempt(tool, context, began, f"raised {type(exc).__name__}")
            if attempt == tool.retries or not _has_time_for(context, delay):
                raise
            await asyncio.sleep(delay)
        except BaseException as exc:
            _log_attempt(tool, context, began, f"raised {type(exc).__name__}")
            raise
    raise AssertionError("unreachable")


def _log_attempt(tool: CallSettings, context: ToolContext, began: float, ending: str) -> None:
    """Log an attempt, without arguments, results and exception messages: they can be private."""
    log_operation(logger, context, "Tool %s %s after %.3f s", tool.name, ending, time.perf_counter() - began)


def _has_time_for(context: ToolContext, delay: float) -> bool:
    return context.deadline is None or datetime.now(UTC) + timedelta(seconds=delay) < context.deadline


async def _once(tool: CallSettings, function: Callable[[], Any], context: ToolContext) -> ToolResult:
    try:
        with use_context(context, tool.name):
            has_carriers = bool(current_call.get().carriers)
            if tool.is_async:
                work = _on_loop(tool, function)
                return await (stepped(work, carriers_entered) if has_carriers else work)
            result: ToolResult | _Pending = await in_thread(
                lambda: _in_thread(tool, function, context), atomic=tool.atomic
            )
            if not isinstance(result, _Pending):
                return result
            work = _on_loop(tool, lambda: result.value)
            return await (stepped(work, carriers_entered) if has_carriers else work)
    except asyncio.CancelledError as exc:
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            raise RuntimeError(f"tool {tool.name} awaited something that was cancelled") from exc
        raise
    except BaseExceptionGroup as group:
        error = told_by(group)
        if error is group:
            raise
        raise error  # noqa: B904 - its own cause, if it has one, says more than the group


def _in_thread(tool: CallSettings, function: Callable[[], Any], context: ToolContext) -> ToolResult | _Pending:
    # Entered again: the thread can go on running after the caller has left its own `use_context`.
    with use_context(context, tool.name), carriers_entered() if current_call.get().carriers else nullcontext():
        value = function()
        if inspect.isawaitable(value) or isinstance(value, AsyncIterator):
            return _Pending(value)
        return result_of(value, tool.converter)


async def _on_loop(tool: CallSettings, function: Callable[[], Any]) -> ToolResult:
    value = function()
    value = await drain(await value if inspect.isawaitable(value) else value)
    if inspect.isawaitable(value):
        discard(value)
        raise NoAnswer(f"tool {tool.name} gave an awaitable that gave another one")
    if tool.converter is None or isinstance(value, ToolResult):
        try:
            return result_of(value, may_block=False)
        except WouldBlock:
            pass
    result: ToolResult = await in_thread(partial(_converted, tool, value))
    return result


def _converted(tool: CallSettings, value: Any) -> ToolResult:
    with carriers_entered() if current_call.get().carriers else nullcontext():
        return result_of(value, tool.converter)
