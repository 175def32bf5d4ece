"""Reads annotations of parameters that take a tool's context."""

from __future__ import annotations

import types
from typing import Annotated, Any, Union, get_args, get_origin

from assistant.toolkit.context import ToolContext


def is_context(annotation: Any) -> bool:
    """Whether a parameter with this annotation takes the tool's context."""
    if isinstance(annotation, type):
        return issubclass(annotation, ToolContext)
    if isinstance(annotation, str):
        return annotation.strip("'\"").partition("[")[0] in {"ToolContext", "tools.ToolContext"}
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, ToolContext):
        return True
    if origin is Annotated:
        return is_context(get_args(annotation)[0])
    return origin in {Union, types.UnionType} and any(is_context(part) for part in get_args(annotation))


def deps_of(annotation: Any) -> tuple[type, ...]:
    """Return the types of dependencies that a parameter's annotation names, as in `ToolContext[MyDeps]`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(origin, type) and issubclass(origin, ToolContext):
        wanted = get_origin(arguments[0]) or arguments[0]
        return (wanted,) if isinstance(wanted, type) else ()
    parts = arguments[:1] if origin is Annotated else arguments if origin in {Union, types.UnionType} else ()
    return tuple(one for part in parts for one in deps_of(part))
