"""Interceptors that a deployment could name: they mark what passes, change an argument, refuse a word."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from assistant.core.extensions.interceptors import AskModel, CallTool, Invocation
from assistant.core.llm.protocol import Delta, ModelRequest
from assistant.core.values.messages import Message, Reply
from assistant.toolkit import ToolError, ToolResult


async def outer(invocation: Invocation, call: CallTool) -> ToolResult:
    """Mark what comes back, and let nobody ask about the weather."""
    about = invocation.parsed().get("about", "")
    if about == "weather":
        raise ToolError("Nobody speaks of the weather here.")
    result = await call(invocation)
    return replace(result, content=f"outer({result.content})")


class Inner:
    """Mark what comes back, and have sheep counted in place of goats; one for the whole process."""

    async def __call__(self, invocation: Invocation, call: CallTool) -> ToolResult:
        if invocation.parsed().get("about") == "goats":
            invocation = replace(invocation, arguments={"about": "sheep"})
        result = await call(invocation)
        return replace(result, content=f"inner({result.content})")


async def first(request: ModelRequest, ask: AskModel) -> AsyncIterator[Delta | Reply]:
    async for item in ask(_with(request, "First.")):
        yield item


async def second(request: ModelRequest, ask: AskModel) -> AsyncIterator[Delta | Reply]:
    async for item in ask(_with(request, "Second.")):
        yield item


def _with(request: ModelRequest, text: str) -> ModelRequest:
    return replace(request, messages=[*request.messages, Message("system", text)])
