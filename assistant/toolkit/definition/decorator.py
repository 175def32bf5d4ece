"""Turns functions and methods into tools: `@tool` and `tools_of()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack, overload

from assistant.toolkit.definition.texts import LazyText
from assistant.toolkit.definition.tool import Tool, ToolOptions
from assistant.toolkit.errors import InvalidTool
from assistant.toolkit.schema.json_schema import JsonSchema


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | LazyText | None = None,
    parameters: JsonSchema | None = None,
    input_type: Any = None,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a tool: `@tool` or `@tool(name=..., timeout=..., ...)` with the fields of `Tool`.

    The tool can still be called like the function.
    """

    def decorate(target: Any) -> Any:
        if isinstance(target, staticmethod):
            return Tool.from_function(target.__func__, **options)
        if isinstance(target, classmethod):
            return classmethod(Tool.from_function(target.__func__, **options))
        return Tool.from_function(target, **options)

    return decorate if function is None else decorate(function)


def tools_of(owner: object) -> list[Tool]:
    """Return the tools among an object's methods, or a class's static and class methods, bound to it.

    They are in the order of definition, those of base classes first. An overridden method is a tool only if the
    override is one.

    Raises:
        InvalidTool: `owner` is a class, and one of its tools is an instance method.
    """
    cls = owner if isinstance(owner, type) else type(owner)
    found: dict[str, Tool] = {}
    for klass in reversed(cls.__mro__):
        for attribute, value in vars(klass).items():
            inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            if isinstance(inner, Tool):
                found[attribute] = inner.__get__(None if isinstance(owner, type) else owner, cls)
            else:
                found.pop(attribute, None)
    for made in found.values():
        if made.signature is not None and made.signature.owner is not None:
            raise InvalidTool(f"Tool {made.name!r} is a method: give tools_of() an object of {cls.__name__}.")
    return list(found.values())
