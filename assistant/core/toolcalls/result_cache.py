"""An interceptor that keeps results of tools and returns them for calls that would read the same."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from cachetools import TTLCache

from assistant.core.toolcalls.interceptors import CallTool, Invocation
from assistant.core.toolcalls.value_keys import ValueKey, key_of
from assistant.toolkit import Tool, ToolContext, ToolResult
from assistant.toolkit.calls.arguments import parse_arguments
from assistant.toolkit.carried_context import current_language

# What is part of the key. Everything else in a context is new with each call or may change within it.
_KEYED = ("tenant", "user", "assistant", "config", "extra", "secrets", "deps")
# What tells the tool nothing: through these it tells others something, which a kept result does not repeat.
_OUTWARD = frozenset({"progress", "untrusted"})


@dataclass(frozen=True, slots=True)
class _CachedResult:
    """A result, and what the tool declared with `mark_untrusted`."""

    result: ToolResult
    sources: tuple[str, ...]
    # Keeps the objects alive whose ids are in the key, so that no other object gets these ids.
    tool: Tool


class Cache:
    """Caches the results of idempotent, read-only tools.

    A result is returned only to a call with the same function (or bound method), arguments and language, and the same
    tenant, user, assistant, settings, secrets, `extra` and `deps` in its context. No result is kept of a call in which
    the tool has read something else of its context, such as the history or the thread, or has read settings, `extra` or
    `deps` with an object in them that may change, such as a connection.

    Args:
        seconds: how long a result is valid.
        size: how many results are cached; the least recently used are dropped first.
    """

    def __init__(self, seconds: float = 60.0, size: int = 1000) -> None:
        self._results: TTLCache[Hashable, _CachedResult, float] = TTLCache(size, seconds)

    async def __call__(self, invocation: Invocation, call: CallTool) -> ToolResult:
        tool, context = invocation.tool, invocation.context
        if not (tool.idempotent and tool.read_only):
            return await call(invocation)
        inputs = {name: key_of(getattr(context, name)) for name in _KEYED}
        key = (_identity(tool), parse_arguments(invocation.arguments).text, current_language(), tuple(inputs.values()))
        found = self._results.get(key)
        if found is not None:
            if found.sources:
                context.mark_untrusted(*found.sources)
            return found.result
        marked: list[str] = []

        def mark(sources: tuple[str, ...]) -> None:
            marked.extend(sources)
            context.mark_untrusted(*sources)

        watched = replace(context, untrusted=mark, read_fields=set())
        result = await call(replace(invocation, context=watched))
        if not result.is_error and result.pending is None and _is_keyed(watched, inputs):
            self._results[key] = _CachedResult(result, tuple(marked), tool)
        return result


def _is_keyed(context: ToolContext, inputs: dict[str, ValueKey]) -> bool:
    """Whether all that the tool has read of its context is in the key."""
    exact = {name for name, key in inputs.items() if key.is_exact}
    return (context.read_fields or set()) <= exact | _OUTWARD


def _identity(tool: Tool) -> Hashable:
    """Return a key for what a tool runs, how it reads its arguments, and how its result is converted.

    Bound methods of different objects have the same name and function, so the object is part of the key.
    """
    handler = tool.handler
    function, owner = getattr(handler, "__func__", handler), getattr(handler, "__self__", None)
    return id(function), id(owner), id(tool.result_converter), key_of(tool.parameters)
