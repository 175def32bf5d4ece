"""Finds the tools that a program names or passes to `ChatClient`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assistant.toolkit import Registry, Tool, UnknownTool

AnyTool = Tool | Callable[..., Any] | str
Resolver = Registry | Callable[[str], Tool | None]


def find_tool(given: AnyTool, defaults: Mapping[str, Tool], resolvers: Sequence[Resolver]) -> Tool:
    """Return a tool that is given as itself, as a function, or by its name.

    Args:
        defaults: the client's own tools, by name.
        resolvers: look up other names, in this order.

    Raises:
        UnknownTool: nothing knows the name.
    """
    if isinstance(given, Tool):
        return given
    if not isinstance(given, str):
        return Tool.from_function(given)
    for resolver in (defaults.get, *resolvers):
        found = _found(resolver, given)
        if found is not None:
            return found
    raise UnknownTool(given, defaults)


def _found(resolver: Resolver, name: str) -> Tool | None:
    if isinstance(resolver, Registry):
        return resolver.get(name) if name in resolver else None
    return resolver(name)
