"""Reads the tools that a client offers and runs itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import ag_ui.core

from assistant.services.errors import Refused
from assistant.toolkit import InvalidTool, Tool
from assistant.toolkit.schema.bounds import InvalidSchema, check_size
from assistant.toolkit.text import clean_text

MAX_TOOLS = 128
# Of the JSON Schemas of a request's tools together: they are read on the event loop.
MAX_SCHEMAS_BYTES = 128_000


def client_tools_of(tools: Sequence[ag_ui.core.Tool]) -> tuple[Tool, ...]:
    """Return the tools that a client runs itself. Raises `Refused` if they are too many, or one is invalid."""
    if len(tools) > MAX_TOOLS:
        raise Refused("invalid_input", f"At most {MAX_TOOLS} client-side tools.")
    try:
        check_sizes(tool.parameters for tool in tools if tool.parameters)
        return tuple(
            Tool.client_side(
                name=tool.name,
                description=clean_text(tool.description),
                parameters=tool.parameters or {"type": "object", "properties": {}},
            )
            for tool in tools
        )
    except InvalidTool as exc:
        raise Refused("invalid_input", f"tools: {exc}") from exc


def check_sizes(schemas: Iterable[Any]) -> None:
    """Raise `InvalidTool` if a tool's schema is out of bounds, or all of them are too large together."""
    left = MAX_SCHEMAS_BYTES
    for schema in schemas:
        try:
            check_size(schema)
        except InvalidSchema as exc:
            raise InvalidTool(f"One has an invalid JSON Schema: {exc}.") from None
        left -= len(json.dumps(schema))
        if left < 0:
            raise InvalidTool(f"Their JSON Schemas have more than {MAX_SCHEMAS_BYTES} bytes together.")
