"""A context that notes what a tool reads of it, for caches of results."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from assistant.toolkit.context import ToolContext

_FIELDS = frozenset(field.name for field in fields(ToolContext))


class _ReadContext(ToolContext[Any]):
    """A context whose `read_fields` gets the name of each field that is read, also by its own methods."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Leave the values as they are: they come from a context, which has frozen them."""

    def __getattribute__(self, name: str) -> Any:
        if name in _FIELDS:
            object.__getattribute__(self, "read_fields").add(name)
        return object.__getattribute__(self, name)


def as_tool_sees(context: ToolContext) -> ToolContext:
    """Return the context that a tool gets: with `read_fields`, one that notes what the tool reads."""
    if context.read_fields is None:
        return context
    return _ReadContext(**{name: getattr(context, name) for name in _FIELDS})
