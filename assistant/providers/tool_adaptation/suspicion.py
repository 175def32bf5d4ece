"""Orders tools by how likely it is that a provider refuses them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from assistant.providers.tool_adaptation.schemas import schema_parts
from assistant.toolkit import Tool

# Keywords that the providers of all wire formats document.
_USUAL = frozenset(
    {
        "type", "properties", "required", "items", "enum", "title", "description", "default", "additionalProperties",
        "anyOf", "format", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "$schema",
    }
)  # fmt: skip
# Parts of a schema that are looked at, characters of a usual schema, and levels of one.
_MAX_PARTS = 2_000
_LARGE = 20_000
_DEEP = 8


@lru_cache(maxsize=4_000)
def oddity(tool: Tool) -> int:
    """Return how many unusual things a tool's schema has: keywords, values of enums, its size and its depth."""
    found: set[str] = set()
    deepest = 0
    for count, (part, depth) in enumerate(_parts(tool.parameters)):
        if count >= _MAX_PARTS:
            break
        found.update(key for key in part if key not in _USUAL)
        deepest = max(deepest, depth)
        values = part.get("enum")
        if isinstance(values, list) and not (values and all(isinstance(value, str) and value for value in values)):
            found.add("enum")
    is_large = len(json.dumps(tool.parameters, default=str)) > _LARGE
    return len(found) + is_large + (deepest > _DEEP)


def by_suspicion(tools: list[Tool]) -> list[Tool]:
    """Return tools with the most suspicious first: those of somebody else with an unusual schema."""
    return sorted(tools, key=lambda tool: (oddity(tool), is_of_others(tool)), reverse=True)


def conspicuous(tools: list[Tool]) -> list[Tool]:
    """Return those that differ from the rest in what makes tools suspicious; [] if none does, or all do."""
    for group in ([tool for tool in tools if oddity(tool)], [tool for tool in tools if is_of_others(tool)]):
        if 0 < len(group) < len(tools):
            return group
    return []


def is_of_others(tool: Tool) -> bool:
    """Return whether a tool comes from an external server or from the caller."""
    return tool.untrusted or tool.is_client_side


def _parts(schema: Any) -> Iterator[tuple[dict[str, Any], int]]:
    waiting = [(schema, 0)]
    while waiting:
        part, depth = waiting.pop()
        yield part, depth
        waiting += [(one, depth + 1) for one in schema_parts(part)]
