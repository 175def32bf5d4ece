"""Makes a `Tool` of a tool that an external server lists."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from typing import Any

from assistant.mcp_client.definitions import ToolDefinition
from assistant.toolkit import Tool, ToolContext, ToolResult
from assistant.toolkit.definition.handwritten import HandWritten

MAX_TOOL_NAME = 64
SEPARATOR = "__"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")

CallRemote = Callable[[dict[str, Any], ToolContext], Awaitable[ToolResult]]


def prefixed(prefix: str, name: str) -> str:
    """Return the name of a server's tool for models: `prefix__name`, shortened to what every provider accepts.

    A name that had to be changed ends in a part of its hash, so that no two names become equal.
    """
    cleaned = _NOT_IN_NAMES.sub("_", name)
    prefixed_name = f"{prefix}{SEPARATOR}{cleaned}"
    if cleaned == name and len(prefixed_name) <= MAX_TOOL_NAME:
        return prefixed_name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{prefixed_name[: MAX_TOOL_NAME - len(digest) - 1]}_{digest}"


def local_name(prefix: str, name: str) -> str:
    """Return the same for a server whose names may do without a prefix."""
    if prefix or _NOT_IN_NAMES.search(name) or len(name) > MAX_TOOL_NAME:
        return prefixed(prefix or "mcp", name)
    return name


def remote_tool(
    *, name: str, definition: ToolDefinition, call: CallRemote, timeout: float, requires_approval: bool
) -> Tool:
    """Return a tool that is run by `call`. Raises `InvalidTool` for an input schema that cannot be checked."""

    async def handler(arguments: dict[str, Any], /, context: ToolContext) -> ToolResult:
        return await call(arguments, context)

    described = definition.description or definition.title or definition.name
    offered = Tool.client_side(name=name, description=described, parameters=dict(definition.input_schema))
    return offered.replace(
        is_client_side=False,
        # Not derived from the handler, since a server's parameter may be named `context` too.
        signature=HandWritten(offered.parameters, contexts=("context",), takes_mapping=True),
        output_schema=dict(definition.output_schema) if definition.output_schema is not None else None,
        handler=handler,
        timeout=timeout,
        requires_approval=requires_approval,
        read_only=definition.is_read_only,
        idempotent=definition.is_idempotent,
        title=definition.title,
        destructive=definition.is_destructive,
        open_world=definition.is_open_world,
        untrusted=True,
    )
