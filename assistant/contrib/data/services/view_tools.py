"""The tools of the project's views: reading ones like any other, all others ask a person first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from django.conf import settings

from assistant.contrib.data.services.operations import Operation
from assistant.toolkit import Change, Tool, ToolContext

# What remains of a call's time when a statement has taken all of its own.
_SPARE_SECONDS = 10


def tool_of(name: str, operation: Operation, handler: Callable[..., Any], *, untrusted: bool) -> Tool:
    """Return the tool of an operation, whose handler is called with the arguments and the context."""
    title = name.replace("_", " ").capitalize()
    options: dict[str, Any] = {"read_only": operation.is_read, "idempotent": operation.method != "post"}
    if not operation.is_read:
        options |= {
            "requires_approval": True,
            "destructive": operation.method == "delete",
            "preview": partial(_sent, operation),
        }
    return Tool(
        name=name,
        title=title,
        description=operation.summary or f"{title}.",
        parameters=operation.parameters,
        handler=handler,
        open_world=False,
        untrusted=untrusted,
        timeout=2 * settings.ASSISTANT_DATA_SECONDS + _SPARE_SECONDS,
        **options,
    )


def _sent(operation: Operation, arguments: Mapping[str, Any], context: ToolContext) -> Iterator[Change]:
    """Yield what would be sent, for the person who approves it."""
    for name, value in arguments.items():
        if name in operation.places:
            yield Change(name.replace("_", " "), None, value)
