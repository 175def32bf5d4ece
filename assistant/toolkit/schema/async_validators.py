"""Finds async validators of pydantic types: pydantic would take the coroutine for the value."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any


def async_validator_in(core_schema: Any) -> str:
    """Return the name of an async validator in pydantic's core schema of a type; empty if there is none."""
    functions = (function for function in _functions(core_schema) if inspect.iscoroutinefunction(function))
    return next((str(getattr(function, "__qualname__", function)) for function in functions), "")


def _functions(schema: Any) -> Iterator[Any]:
    """Yield the functions of validators; metadata, which is for JSON Schemas, has others."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "function" and callable(value):
                yield value
            elif key not in ("metadata", "serialization"):
                yield from _functions(value)
    elif isinstance(schema, list | tuple):
        for item in schema:
            yield from _functions(item)
