"""What a call that waits for approval would change, as its tool says."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import pydantic_core

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.toolkit import Tool, ToolContext, ToolError
from assistant.toolkit.calls.call import cut
from assistant.toolkit.calls.gate import HandedIn, ask
from assistant.toolkit.calls.worker_threads import in_thread
from assistant.toolkit.context import use_context
from assistant.toolkit.definition.questions import Change, Preview
from assistant.toolkit.logs import log_extra
from assistant.toolkit.text import clean_text

logger = logging.getLogger(__name__)

MAX_CHANGES = 50
# Of one value that is shown.
MAX_CHARACTERS = 2_000


async def with_preview(outcome: ToolOutcome, tool: Tool | None, context: ToolContext) -> ToolOutcome:
    """Return the outcome of a waiting call with its changes; unchanged for others, and if a preview fails.

    A preview that raises `ToolError` says that the tool would refuse: nobody is asked, and the model reads why.
    """
    if outcome.asked is None or tool is None or tool.preview is None:
        return outcome
    try:
        changes = await changes_of(tool, outcome.call.arguments, context)
    except ToolError as exc:
        text = clean_text(cut(str(exc) or "The tool failed."))
        sources = (tool.title.strip() or tool.name,) if tool.untrusted or tool.open_world else ()
        return replace(outcome, status="error", content=text, error=text, sources=sources, asked=None, warning="")
    except Exception:
        logger.exception("The preview of tool %s failed", tool.name, extra=log_extra(context))
        return outcome
    return replace(outcome, asked=replace(outcome.asked, changes=changes))


async def changes_of(tool: Tool, arguments: str, context: ToolContext) -> list[dict[str, Any]]:
    """Return what a call would change, as a page shows it; nothing for a tool without a preview.

    Raises:
        ToolError: the arguments do not fit, or the tool would refuse them.
        NoAnswer: the preview failed.
    """
    if tool.preview is None:
        return []
    checked = await tool.checked(arguments), context
    answer = await ask(HandedIn(partial(_changes, tool.preview), checked, "preview", tool.name, list))
    changes: list[dict[str, Any]] = answer.result()
    return changes


def _changes(preview: Preview, arguments: Mapping[str, Any], context: ToolContext) -> Any:
    """Return the changes as JSON values; an awaitable of them, if they come from async code."""
    with use_context(context):
        changes = preview(arguments, context)
        if inspect.isawaitable(changes) or isinstance(changes, AsyncIterable):
            return _changes_later(changes, context)
        return [_as_json(change) for change in islice(changes, MAX_CHANGES)]


async def _changes_later(changes: Any, context: ToolContext) -> Any:
    with use_context(context):
        changes = await changes if inspect.isawaitable(changes) else changes
        if isinstance(changes, AsyncIterable):
            return [_as_json(change) async for change in _first(changes)]
    # These may still query the database.
    return await in_thread(partial(_changes, lambda *_: changes, {}, context), is_quick=True)


async def _first(changes: AsyncIterable[Change]) -> AsyncIterator[Change]:
    count = 0
    async for change in changes:
        yield change
        count += 1
        if count == MAX_CHANGES:
            return


def _as_json(change: Change) -> dict[str, Any]:
    values = {"label": change.label, "old": _value(change.old), "new": _value(change.new)}
    return {name: value for name, value in values.items() if value is not None}


def _value(value: Any) -> Any:
    shown = pydantic_core.to_jsonable_python(value, fallback=str, inf_nan_mode="null")
    return shown if shown is None or isinstance(shown, bool | int | float) else str(shown)[:MAX_CHARACTERS]
