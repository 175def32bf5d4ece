"""An interceptor that keeps results of tools and returns them for calls that would read the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

from cachetools import TTLCache

from assistant.client.value_keys import ValueKey, key_of
from assistant.core.extensions.interceptors import CallTool, Invocation, Watch, watching
from assistant.core.toolcalls.run_call import current_parent
from assistant.toolkit import Tool, ToolContext, ToolResult
from assistant.toolkit.calls.arguments import parse_arguments
from assistant.toolkit.calls.worker_threads import on_left_running
from assistant.toolkit.carried_context import current_language, declare_internal, readable_variables
from assistant.toolkit.context import as_tool_sees, current_call, home_loop
from assistant.toolkit.logs import logged_request, logged_run

# What is part of the key. Everything else in a context is new with each call or may change within it.
_KEYED = ("tenant", "user", "assistant", "config", "extra", "secrets", "deps")
# What tells the tool nothing: through these it tells others something, which a kept result does not repeat.
_OUTWARD = frozenset({"progress", "untrusted"})
declare_internal(current_parent, watching, on_left_running, home_loop, current_call, logged_request, logged_run)


@dataclass(frozen=True, slots=True)
class _CachedResult:
    """A result, and what the tool declared with `mark_untrusted`."""

    result: ToolResult
    sources: tuple[str, ...]
    # Keeps the objects alive whose ids are in the key, so that no other object gets these ids.
    tool: Tool


class Cache:
    """Caches the results of idempotent, read-only tools.

    A result is returned only to a call with the same function, arguments and language, the same values in a method's
    object, in variables that the function closes over and in context variables, and the same tenant, user, assistant,
    settings, secrets, `extra` and `deps` in its context. No result is kept of a call in which the tool, or an
    interceptor within the cache, has read something else of the context, such as the history or the thread, or has read
    an object that may change, such as a connection. Nor where such an object has the method or is the value of such a
    variable, nor where an interceptor within the cache calls the tool with another context or other arguments. What is
    read elsewhere, such as in a module's variables or a database, may be as old as the result.

    Args:
        seconds: how long a result is valid.
        size: how many results are cached; the least recently used are dropped first.

    Attributes:
        keeps_results: says to tests of prompts, whose results may be made up, that it must not be asked in them.
    """

    keeps_results = True

    def __init__(self, seconds: float = 60.0, size: int = 1000) -> None:
        self._results: TTLCache[Hashable, _CachedResult, float] = TTLCache(size, seconds)

    async def __call__(self, invocation: Invocation, call: CallTool) -> ToolResult:
        tool, context = invocation.tool, invocation.context
        if not (tool.idempotent and tool.read_only):
            return await call(invocation)
        owner, variables = _owner_key(tool), _variables_key()
        if not (owner.is_exact and variables.is_exact):
            return await call(invocation)
        inputs = {name: key_of(getattr(context, name)) for name in _KEYED}
        text = parse_arguments(invocation.arguments).text
        key = (_identity(tool), owner, variables, text, current_language(), tuple(inputs.values()))
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
        watch = Watch(invocation.in_context(as_tool_sees(watched)), invocation.in_context(watched))
        token = watching.set(watch)
        try:
            result = await call(watch.given)
        finally:
            watching.reset(token)
        is_same = watch.is_unchanged and _owner_key(tool) == owner
        if is_same and not result.is_error and result.pending is None and _is_keyed(watched, inputs):
            self._results[key] = _CachedResult(result, tuple(marked), tool)
        return result


def _is_keyed(context: ToolContext, inputs: dict[str, ValueKey]) -> bool:
    """Whether all that the tool has read of its context is in the key."""
    exact = {name for name, key in inputs.items() if key.is_exact}
    return (context.read_fields or set()) <= exact | _OUTWARD


def _identity(tool: Tool) -> Hashable:
    """Return a key for what a tool runs, how it reads its arguments, and how its result is converted."""
    function = getattr(tool.handler, "__func__", tool.handler)
    return id(function), id(tool.result_converter), key_of(tool.parameters)


def _owner_key(tool: Tool) -> ValueKey:
    """Return the key of what a tool has besides its code: its method's or callable object, what it closes over."""
    handler = tool.handler
    if not isinstance(handler, FunctionType | MethodType):
        return key_of(handler)
    return _joined([key_of(getattr(handler, "__self__", None)), _closure_key(handler, set())])


def _closure_key(function: FunctionType | MethodType, seen: set[int]) -> ValueKey:
    """Return the key of the variables that a function closes over; `seen` has the functions that are read already."""
    held: list[ValueKey] = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # a variable that is not set yet
            held.append(_held_key(cell.cell_contents, seen))
    return _joined(held)


def _held_key(value: Any, seen: set[int]) -> ValueKey:
    """Return the key of a variable. Code in it is itself, with what it closes over in turn."""
    if isinstance(value, partial):
        return _joined([_held_key(value.func, seen), key_of(value.args), key_of(value.keywords)])
    if isinstance(value, FunctionType | type | ModuleType):
        itself = ValueKey(key_of(value).key, is_exact=True)
        if not isinstance(value, FunctionType) or id(value) in seen:
            return itself
        seen.add(id(value))
        return _joined([itself, _closure_key(value, seen)])
    return key_of(value)


def _joined(keys: Iterable[ValueKey]) -> ValueKey:
    joined = tuple(keys)
    return ValueKey(tuple(key.key for key in joined), all(key.is_exact for key in joined))


def _variables_key() -> ValueKey:
    """Return the key of all context variables that a tool could read."""
    keys = {variable: key_of(value) for variable, value in readable_variables().items()}
    return ValueKey(frozenset(keys.items()), all(key.is_exact for key in keys.values()))
