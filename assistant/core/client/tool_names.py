"""Finds the tools that a program names or passes to `ChatClient`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from assistant.toolkit import InvalidTool, Registry, Tool, UnknownTool
from assistant.toolkit.calls.gate import HandedIn, called
from assistant.toolkit.calls.handed_in import discard
from assistant.toolkit.calls.worker_threads import is_async

AnyTool = Tool | Callable[..., Any] | str
Resolver = Registry | Callable[[str], Tool | Awaitable[Tool | None] | None]


def find_tool(given: AnyTool, defaults: Mapping[str, Tool], resolvers: Sequence[Resolver]) -> Tool:
    """Return a tool that is given as itself, as a function, or by its name; in this thread, without an event loop.

    Args:
        defaults: the client's own tools, by name.
        resolvers: look up other names, in this order.

    Raises:
        InvalidTool: a resolver is async, which can only be asked for the tools of a call.
        UnknownTool: nothing knows the name.
    """
    if isinstance(given, Tool):
        return given
    if not isinstance(given, str):
        return Tool.from_function(given)
    if given in defaults:
        return defaults[given]
    for resolver in resolvers:
        if isinstance(resolver, Registry):
            found = resolver.get(given) if given in resolver else None
        elif is_async(resolver):
            raise InvalidTool(f"A resolver is async, and can look {given!r} up for a call only, not for the client.")
        else:
            found = _checked(resolver(given))
        if found is not None:
            return found
    raise UnknownTool(given, defaults)


async def find_tool_of_call(given: AnyTool, defaults: Mapping[str, Tool], resolvers: Sequence[Resolver]) -> Tool:
    """Return what `find_tool` returns, on an event loop: resolvers may be async, and others run in a thread."""
    if not isinstance(given, str) or given in defaults:
        return find_tool(given, defaults, ())
    for resolver in resolvers:
        if isinstance(resolver, Registry):
            found = resolver.get(given) if given in resolver else None
        else:
            found = _checked(await called(HandedIn(resolver, (given,), "resolvers", "ChatClient", seconds=60.0)))
        if found is not None:
            return found
    raise UnknownTool(given, defaults)


def _checked(found: Any) -> Tool | None:
    if found is None or isinstance(found, Tool):
        return found
    discard(found)
    raise InvalidTool(f"A resolver gave a {type(found).__name__}, not a tool or None.")
