"""Result converters: what makes of a tool's return value what the model reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assistant.toolkit.calls.gate import positional_mistake

# A function of the value, or of the value and its declared type; returns what is converted for the model.
ResultConverter = Callable[[Any], Any] | Callable[[Any, Any], Any]


def takes_type(converter: Callable[..., Any]) -> bool:
    """Return whether a result converter takes the declared type beside the value: a second positional argument."""
    return bool(positional_mistake(converter, 1)) and not positional_mistake(converter, 2)


def of_value(converter: ResultConverter, declared: Any) -> Callable[[Any], Any]:
    """Return the converter as a function of the value alone.

    Args:
        declared: the type that the tool's function says that it returns; `Any` if it says none.
    """
    convert: Callable[..., Any] = converter
    return (lambda value: convert(value, declared)) if takes_type(convert) else convert
