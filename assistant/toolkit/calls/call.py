"""Runs one tool call: the function, on the loop or in a thread, with retries, and the result's conversion."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from typing import Any, Protocol

from assistant.toolkit.calls.gate import NoAnswer, discard, settled_in_thread
from assistant.toolkit.calls.json_values import (
    MAX_ITEMS,
    WouldBlock,
    conversion_error,
    register_converter,
    to_json_value,
    tripwire_for,
    truncation_notice,
)
from assistant.toolkit.calls.worker_threads import in_thread
from assistant.toolkit.carried_tasks import carry_into_tasks
from assistant.toolkit.carriers import stepped
from assistant.toolkit.context import ToolContext, carriers_entered, current_call, use_context
from assistant.toolkit.errors import InvalidTool, told_by
from assistant.toolkit.guards.tripwire import Tripwire
from assistant.toolkit.logs import log_operation
from assistant.toolkit.media import Media, checked, media_in
from assistant.toolkit.text import clean_text, is_lazy
from assistant.toolkit.waiting import Pending

logger = logging.getLogger(__name__)


__all__ = ["MAX_ITEMS", "MAX_TOKENS", "ToolResult", "convert", "cut", "drain", "register_converter"]

# Of one result: what the model reads, and what is stored for the operator.
MAX_TOKENS = 10_000
MAX_STORED_TOKENS = 250_000
# An estimate: tokenisers differ, but for most a token is about four bytes in any script.
BYTES_PER_TOKEN = 4
# Bytes of the note at the end of a text that was cut, at most.
BYTES_OF_NOTE = 100
DONE = "Done"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call. A tool can return one if pages should show something else than the model reads.

    Attributes:
        content: the text for the model.
        display: what pages show, any value that converts to JSON.
        value: what the function returned.
        full: the whole text, if `content` was cut.
        media: files, for both the model and pages.
        pending: what is waited for, if the result comes later; the other attributes are empty then.
    """

    content: str = ""
    display: Any = None
    value: Any = None
    is_error: bool = False
    full: str = ""
    media: tuple[Media, ...] = ()
    pending: Pending | None = None


def _refuse_nested(value: object) -> None:
    raise InvalidTool(f"A {type(value).__name__} is nested in another value; it must be the return value itself.")


register_converter(lambda value: isinstance(value, ToolResult | Pending), _refuse_nested)


def convert(value: Any, *, may_block: bool = True, tripwire: Tripwire | None = None) -> str:
    """Convert a value to text: strings, also lazy ones, unchanged, None as "Done", everything else as JSON.

    Args:
        may_block: whether database rows, generators and long values may be read here; if not, they raise `WouldBlock`.
        tripwire: checks the rows in the value; the caller then calls its `check_pending`. Default: a new one.

    Raises:
        ForeignRow: the value contains a row of another tenant.
        ToolError: the value cannot be converted; the message names its type.
    """
    if value is None:
        return DONE
    if isinstance(value, str):
        return clean_text(str(value.value if isinstance(value, Enum) else value))
    converted = to_json_value(value, may_block=may_block, tripwire=tripwire)
    if isinstance(converted, str) and is_lazy(value):
        return converted
    try:
        return json.dumps(converted, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as exc:  # e.g. an int with thousands of digits
        raise conversion_error(value) from exc


def result_of(value: Any, converter: Callable[[Any], Any] | None = None, *, may_block: bool = True) -> ToolResult:
    """Make a `ToolResult` from a tool's return value, with long content cut.

    Raises what `convert` and the tool's `converter` raise, and an exception that was returned.
    `may_block` is as for `convert`.
    """
    if isinstance(value, Pending):
        return ToolResult(value=value, pending=value)
    if converter is None and isinstance(value, Media | list | tuple) and (files := media_in(value)):
        value = ToolResult(media=files, value=value)
    if isinstance(value, BaseException):
        raise value if isinstance(value, Exception) else RuntimeError(f"the tool returned {type(value).__name__}")
    if isinstance(value, ToolResult):
        result = _completed(value, may_block=may_block)
    elif converter is None:
        result = ToolResult(convert(value, may_block=may_block), value=value)
    else:
        result = _result_by(converter, value, may_block=may_block)
    if len(result.content) * 4 > MAX_TOKENS * BYTES_PER_TOKEN:  # else it is short in any script
        short = cut(result.content)
        if short is not result.content:
            result = replace(result, content=short, full=result.full or cut(result.content, MAX_STORED_TOKENS))
    return _with_media_sentences(result) if result.media else result


def _result_by(converter: Callable[[Any], Any], value: Any, *, may_block: bool) -> ToolResult:
    """Return the result of a value that is shown as a converter of the tool says."""
    tripwire = tripwire_for(may_block)
    checked_value = tripwire.checked_value(value)
    tripwire.check_pending()
    shown = settled_in_thread(converter(checked_value), "a result_converter")
    content = convert(shown, may_block=may_block, tripwire=tripwire)
    tripwire.check_pending()
    return ToolResult(content, value=value)


def _completed(result: ToolResult, *, may_block: bool) -> ToolResult:
    """Return a result that a tool has made itself, with what it holds checked and converted."""
    tripwire = tripwire_for(may_block)
    # `convert` checks only what it converts, and these two are passed on as they are.
    tripwire.check_rows_in([result.media, result.value])
    content = convert(result.content, may_block=may_block, tripwire=tripwire)
    display = result.display
    if display is not None:
        display = to_json_value(display, may_block=may_block, tripwire=tripwire)
    tripwire.check_pending()
    return replace(result, content=content, display=display, media=checked(result.media))


def _with_media_sentences(result: ToolResult) -> ToolResult:
    """Add a sentence on each file to the content, for models that cannot see files."""
    sentences = "\n".join(one.sentence for one in result.media)
    return replace(result, content=f"{result.content}\n{sentences}".lstrip("\n"))


def cut(text: str, limit: int = MAX_TOKENS) -> str:
    """Shorten a text to about `limit` tokens; a shortened text ends with a note."""
    if len(text) * 4 <= limit * BYTES_PER_TOKEN:  # UTF-8 has at most four bytes per character
        return text
    encoded = text.encode()
    if len(encoded) <= limit * BYTES_PER_TOKEN:
        return text
    shown = encoded[: limit * BYTES_PER_TOKEN].decode(errors="ignore")
    return f"{shown}\n[Cut here: the first {len(shown):,} of {len(text):,} characters are shown.]"


def stored(text: str) -> str:
    """Return the text of a result as it is kept for operators: cut with a note if it is not yet."""
    # A text that was cut before is longer than the limit by its note.
    return text if len(text) <= MAX_STORED_TOKENS else cut(text, MAX_STORED_TOKENS + BYTES_OF_NOTE // BYTES_PER_TOKEN)


async def drain(value: AsyncIterator[Any]) -> list[Any]:
    """Return the first `MAX_ITEMS` items of an async iterator as a list."""
    items: list[Any] = []
    try:
        async for item in value:
            if len(items) == MAX_ITEMS:
                items.append(truncation_notice())
                break
            items.append(item)
    finally:
        if hasattr(value, "aclose"):
            await value.aclose()
    return items


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
        ending = "succeeded"
        try:
            result = await _once(tool, function, seen)
            if result.is_error:
                ending = "failed"
            return result
        except tool.retry_on as exc:
            ending = f"raised {type(exc).__name__}"
            delay = min(tool.retry_delay * 2**attempt, MAX_RETRY_DELAY_SECONDS) * random.uniform(0.5, 1)  # noqa: S311 - jitter  # nosec B311
            if attempt == tool.retries or not _has_time_for(context, delay):
                raise
        except BaseException as exc:
            ending = f"raised {type(exc).__name__}"
            raise
        finally:
            # Without arguments, results and exception messages: they can be private.
            log_operation(logger, context, "Tool %s %s after %.3f s", tool.name, ending, time.perf_counter() - began)
        await asyncio.sleep(delay)
    raise AssertionError("unreachable")


def _has_time_for(context: ToolContext, delay: float) -> bool:
    return context.deadline is None or datetime.now(UTC) + timedelta(seconds=delay) < context.deadline


async def _once(tool: CallSettings, function: Callable[[], Any], context: ToolContext) -> ToolResult:
    try:
        with use_context(context, tool.name):
            has_carriers = bool(current_call.get().carriers)
            if has_carriers:
                carry_into_tasks()
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
    if inspect.isawaitable(value):
        value = await value
    if isinstance(value, AsyncIterator):
        value = await drain(value)
    if inspect.isawaitable(value):
        discard(value)
        raise NoAnswer(f"tool {tool.name} gave an awaitable that gave another one")
    if tool.converter is None or isinstance(value, ToolResult):
        try:
            return result_of(value, may_block=False)
        except WouldBlock:
            pass
    result: ToolResult = await in_thread(partial(_converted_as, tool, value))
    return result


def _converted_as(tool: CallSettings, value: Any) -> ToolResult:
    with carriers_entered() if current_call.get().carriers else nullcontext():
        return result_of(value, tool.converter)
