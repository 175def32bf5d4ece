"""Finds the functions that pydantic calls when it validates a type: validators, factories of defaults and the like.

pydantic awaits none, and those that a program wrote itself may query a database or take long.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any

from pydantic import TypeAdapter

# Of pydantic's core schema: what is a function, and what is none although it may look like a part of the schema.
_FUNCTIONS = frozenset({"function", "default_factory", "discriminator", "missing"})
_OTHERS = frozenset({"metadata", "serialization", "default", "expected", "members"})
# Packages whose functions wait for nothing; the standard library's neither, as far as they make values.
_PLAIN = frozenset({"pydantic", "pydantic_core", "pydantic_extra_types", "annotated_types", *sys.stdlib_module_names})
_OURS = "assistant.toolkit."


def async_function_in(adapter: TypeAdapter[Any]) -> str:
    """Return the name of an async function that a validator calls; empty if there is none."""
    functions = (one for one in _functions(adapter.core_schema) if _is_async(one))
    return next((str(getattr(function, "__qualname__", function)) for function in functions), "")


def has_own_functions(adapter: TypeAdapter[Any]) -> bool:
    """Whether a validator calls functions that are neither pydantic's nor the standard library's."""
    return any(not _is_plain(function) for function in _functions(adapter.core_schema))


def _functions(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in _FUNCTIONS and callable(value):
                yield value
            elif key not in _OTHERS:
                yield from _functions(value)
        if isinstance(schema.get("cls"), type):
            yield from _methods(schema, schema["cls"])
    elif isinstance(schema, list | tuple):
        for item in schema:
            yield from _functions(item)


def _methods(schema: dict[str, Any], cls: type) -> Iterator[Any]:
    """Yield the functions of a class that pydantic, or Python, calls when a value of it is made."""
    after = schema.get("post_init")
    names = ["__post_init__" if after is True else str(after)] if after else []
    names += ["__init__"] if schema.get("custom_init") else []
    names += ["_missing_"] if issubclass(cls, Enum) else []
    yield from (method for name in names if (method := getattr(cls, name, None)) is not None)
    private: dict[str, Any] = getattr(cls, "__private_attributes__", {})
    yield from (one.default_factory for one in private.values() if one.default_factory is not None)


def _is_async(function: Any) -> bool:
    call = None if isinstance(function, type) else getattr(function, "__call__", None)  # noqa: B004 - it may be async
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _is_plain(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
        return True  # a NamedTuple
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    return module.partition(".")[0] in _PLAIN or module.startswith(_OURS)
