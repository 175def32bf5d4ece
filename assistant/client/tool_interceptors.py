"""Interceptors of tool calls that programs may hand in: one logs them, one hides what matches patterns."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from assistant.client.redaction import MARK, Redaction
from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.toolkit import ToolError, ToolResult
from assistant.toolkit.logs import log_extra

logger = logging.getLogger(__name__)


async def log_calls(invocation: Invocation, call: CallTool) -> ToolResult:
    """Log each call with its tenant, run and duration; never its arguments or result."""
    began = time.perf_counter()
    ending = "failed"
    try:
        result = await call(invocation)
        ending = "returned"
        return result
    finally:
        context = invocation.context
        milliseconds = (time.perf_counter() - began) * 1000
        logger.info(
            "Tool %s %s after %.0f ms (tenant %s, run %s, call %s)",
            invocation.tool.name,
            ending,
            milliseconds,
            context.tenant.slug,
            context.run_id,
            context.tool_call_id,
            extra=log_extra(context),
        )


class Redact:
    """Replaces matches of patterns, such as card numbers, in results before the model, the page or the audit see them.

    Covers error messages, structured values, and names and descriptions of files, but not the files' content.

    Args:
        patterns: regular expressions.
        mark: the replacement.
    """

    def __init__(self, *patterns: str, mark: str = MARK) -> None:
        self._redaction = Redaction(patterns, mark)

    async def __call__(self, invocation: Invocation, call: CallTool) -> ToolResult:
        try:
            result = await call(invocation)
        except ToolError as exc:
            sentence = self._redaction.text(str(exc))
            if sentence == str(exc):
                raise
            raise ToolError(sentence) from exc
        content = self._redaction.text(result.content)
        return replace(
            result,
            content=content,
            full=result.full if content == result.content else "",
            display=self._redaction.value(result.display),
            value=self._redaction.value(result.value),
            media=tuple(
                replace(one, name=self._redaction.text(one.name), description=self._redaction.text(one.description))
                for one in result.media
            ),
        )
