"""Interceptors of tool calls as an extension, and all that extensions do around a call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assistant.core.extensions.extension import Extension, ShippedExtension, with_hook
from assistant.core.extensions.interceptors import ToolInterceptor


class Interceptors(ShippedExtension[None]):
    """Wraps every tool call of a turn, and of the assistants that it asks, in functions, the first outermost."""

    name = "assistant.interceptors"
    in_sub_agents = True

    def __init__(self, functions: Sequence[ToolInterceptor]) -> None:
        self.functions = tuple(functions)


def around_tools(extensions: Iterable[Extension[Any]]) -> tuple[ToolInterceptor, ...]:
    """Return what wraps every tool call, the outermost first."""
    found: list[ToolInterceptor] = []
    for extension in extensions:
        if isinstance(extension, Interceptors):
            found += extension.functions
        elif with_hook([extension], "around_tool"):
            found.append(extension.around_tool)
    return tuple(found)
