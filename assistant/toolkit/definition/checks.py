"""Checks the options of a tool for contradictions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import BaseModel

from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.definition.texts import is_blank
from assistant.toolkit.errors import InvalidTool

if TYPE_CHECKING:
    from assistant.toolkit.definition.tool import Tool

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)


def check_definition(tool: Tool) -> None:
    """Raise `InvalidTool` for invalid or contradictory options."""
    if not isinstance(tool.name, str) or not NAME.fullmatch(tool.name):
        raise InvalidTool(f"A tool's name matches {NAME.pattern}; {tool.name!r} does not.")
    mistakes = {
        "has no description; the model chooses tools by it": is_blank(tool, "description") and not tool.is_client_side,
        "must have the JSON Schema of an object as its parameters": not isinstance(tool.parameters, dict)
        or tool.parameters.get("type", "object") != "object",
        "has neither a handler nor runs at the client": tool.handler is None
        and not (tool.is_client_side or tool.is_provider_side),
        "must have a timeout above 0": tool.timeout is not None and not tool.timeout > 0,
        "must have max_calls above 0": tool.max_calls is not None and tool.max_calls < 1,
        "cannot have a negative number of retries": tool.retries < 0 or tool.retry_delay < 0,
        'must have on_error="model" or "raise"': tool.on_error not in {"model", "raise"},
        "must have a pydantic model as its config": tool.config is not None
        and not (isinstance(tool.config, type) and issubclass(tool.config, BaseModel)),
        "is async, and only a sync function can be atomic": tool.atomic and tool.is_async,
        "has secrets, needs_context or destinations that are no sequences of names": any(
            isinstance(names, str)
            for names in (tool.secrets, tool.needs_context, tool.destinations, tool.destination_texts)
        ),
        "has destination_texts or known_destination without destinations": not tool.destinations
        and (bool(tool.destination_texts) or tool.known_destination is not None),
        "has an async known_destination, which is called in a thread": tool.known_destination is not None
        and is_async(tool.known_destination),
    }
    for mistake, is_made in mistakes.items():
        if is_made:
            raise InvalidTool(f"Tool {tool.name!r} {mistake}.")
