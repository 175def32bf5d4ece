"""What a call that waits for approval would change, as its tool says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import pydantic_core

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.toolkit import Tool, ToolContext, ToolError
from assistant.toolkit.calls.results import cut
from assistant.toolkit.calls.worker_threads import in_thread
from assistant.toolkit.context import use_context
from assistant.toolkit.definition.questions import Change
from assistant.toolkit.logs import log_extra
from assistant.toolkit.text import clean_text

logger = logging.getLogger(__name__)

MAX_CHANGES = 50
# Of one value that is shown.
MAX_CHARACTERS = 2_000
PREVIEW_SECONDS = 5.0


async def with_preview(outcome: ToolOutcome, tool: Tool | None, context: ToolContext) -> ToolOutcome:
    """Return the outcome of a waiting call with its changes; unchanged for others, and if a preview fails.

    A preview that raises `ToolError` says that the tool would refuse: nobody is asked, and the model reads why.
    """
    if outcome.asked is None or tool is None or tool.preview is None:
        return outcome
    try:
        async with asyncio.timeout(PREVIEW_SECONDS):
            changes = await in_thread(partial(_changes, tool, tool.check(outcome.call.arguments), context))
    except ToolError as exc:
        text = clean_text(cut(str(exc) or "The tool failed."))
        sources = (tool.title.strip() or tool.name,) if tool.untrusted or tool.open_world else ()
        return replace(outcome, status="error", content=text, error=text, sources=sources, asked=None, warning="")
    except Exception:
        logger.exception("The preview of tool %s failed", tool.name, extra=log_extra(context))
        return outcome
    return replace(outcome, asked=replace(outcome.asked, changes=changes))


def _changes(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> list[dict[str, Any]]:
    assert tool.preview is not None  # noqa: S101 - the caller has looked  # nosec B101
    with use_context(context):
        return [_as_json(change) for change in islice(tool.preview(arguments, context), MAX_CHANGES)]


def _as_json(change: Change) -> dict[str, Any]:
    values = {"label": change.label, "old": _value(change.old), "new": _value(change.new)}
    return {name: value for name, value in values.items() if value is not None}


def _value(value: Any) -> Any:
    shown = pydantic_core.to_jsonable_python(value, fallback=str, inf_nan_mode="null")
    return shown if shown is None or isinstance(shown, bool | int | float) else str(shown)[:MAX_CHARACTERS]
