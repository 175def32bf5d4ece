"""Names of tools made from functions, classes and methods."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, cast

# Word boundaries in class names: `HTTPServer`, `OpenTicket2`.
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def name_of(function: Callable[..., Any]) -> str:
    """Return a function's name; for a class or a callable object, the class name in snake case."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(inspect.unwrap(function)):
        return str(getattr(unwrapped(function), "__name__", ""))
    owner = function if isinstance(function, type) else type(function)
    return _WORD_BEGINS.sub("_", owner.__name__).lower()


def words_of(name: str) -> str:
    """Return the words of a name in snake case, kebab case or camel case, in small letters."""
    return " ".join(_WORD_BEGINS.sub(" ", name).replace("_", " ").replace("-", " ").split()).lower()


def unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function behind a partial, a decorated function, a method, a class or a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type):
        return cast(Callable[..., Any], function.__init__)  # type: ignore[misc]
    if not inspect.isroutine(inspect.unwrap(function)):
        function = type(function).__call__
    return cast(Callable[..., Any], inspect.unwrap(function))
