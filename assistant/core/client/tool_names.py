"""Finds the tools that a program passes to `ChatClient`: functions, names, and objects and collections of tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from assistant.core.turn.agents import Agent
from assistant.toolkit import InvalidTool, Registry, Tool, UnknownTool, tools_of
from assistant.toolkit.calls.gate import HandedIn, called
from assistant.toolkit.calls.handed_in import discard
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.registry import tools_in

AnyTool = Tool | Callable[..., Any] | str
Resolver = Registry | Callable[[str], Tool | Awaitable[Tool | None] | None]
# How deep lists may lie in lists.
MAX_DEPTH = 10


def single_sources(source: object, *, depth: int = 0) -> Iterator[object]:
    """Yield what a source of tools holds: tools, functions, names, and what is none of these, such as `McpServer`.

    Args:
        source: one of these, an object or a class with methods that are tools, a module, an `Agent`, a `Registry`, a
            mapping (its keys name functions and tools), or a list of all these, which may be nested.

    Raises:
        InvalidTool: a class has tools that need an object, a module has none, or the lists are nested too deep.
    """
    if depth > MAX_DEPTH:
        raise InvalidTool(f"Lists of tools are nested more than {MAX_DEPTH} deep.")
    if isinstance(source, Tool | str):
        yield source
    elif isinstance(source, Agent):
        yield source.as_tool()
    elif isinstance(source, ModuleType):
        found = tools_in(source)
        if not found:
            raise InvalidTool(f"The module {source.__name__} has no tools: decorate its functions with @tool.")
        yield from found
    elif isinstance(source, Mapping):
        for name, value in source.items():
            yield from _named(name, single_sources(value, depth=depth + 1))
    elif bound := tools_of(source):
        yield from bound
    elif isinstance(source, Iterable) and not isinstance(source, type | bytes):
        for value in source:
            yield from single_sources(value, depth=depth + 1)
    else:
        yield source


def _named(name: object, sources: Iterable[object]) -> Iterator[object]:
    """Yield the sources; a single function or tool gets the name."""
    if not isinstance(name, str):
        raise InvalidTool(f"A mapping of tools has names as keys, not {name!r}.")
    found = list(sources)
    for source in found:
        if len(found) > 1 or not callable(source):
            yield source
        elif isinstance(source, Tool):
            yield source.replace(name=name)
        else:
            yield Tool.from_function(source, name=name)


def find_tool(source: object, defaults: Mapping[str, Tool], resolvers: Sequence[Resolver]) -> Tool:
    """Return a tool that is given as itself, as a function, or by its name; in this thread, without an event loop.

    Args:
        defaults: the client's own tools, by name.
        resolvers: look up other names, in this order.

    Raises:
        InvalidTool: it is none of these, or a resolver is async, which can only be asked for the tools of a call.
        UnknownTool: nothing knows the name.
    """
    if isinstance(source, Tool):
        return source
    if not isinstance(source, str):
        return _from_function(source)
    if source in defaults:
        return defaults[source]
    for resolver in resolvers:
        if isinstance(resolver, Registry):
            resolved = resolver.get(source) if source in resolver else None
        elif is_async(resolver):
            raise InvalidTool(f"A resolver is async, and can look {source!r} up for a call only, not for the client.")
        else:
            resolved = _checked(resolver(source))
        if resolved is not None:
            return resolved
    raise UnknownTool(source, defaults)


async def find_tool_of_call(source: object, defaults: Mapping[str, Tool], resolvers: Sequence[Resolver]) -> Tool:
    """Return what `find_tool` returns, on an event loop: resolvers may be async, and others run in a thread."""
    if not isinstance(source, str) or source in defaults:
        return find_tool(source, defaults, ())
    for resolver in resolvers:
        if isinstance(resolver, Registry):
            resolved = resolver.get(source) if source in resolver else None
        else:
            resolved = _checked(await called(HandedIn(resolver, (source,), "resolvers", "ChatClient", seconds=60.0)))
        if resolved is not None:
            return resolved
    raise UnknownTool(source, defaults)


def _from_function(source: object) -> Tool:
    if not callable(source):
        raise InvalidTool(
            f"{source!r} is no source of tools: it is not a tool, a function or a name, and none of its methods is a "
            "tool. Decorate them with @tool."
        )
    return Tool.from_function(source)


def _checked(resolved: Any) -> Tool | None:
    if resolved is None or isinstance(resolved, Tool):
        return resolved
    discard(resolved)
    raise InvalidTool(f"A resolver gave a {type(resolved).__name__}, not a tool or None.")
