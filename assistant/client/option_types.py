"""Refuses values of the wrong type for options of a client and of a call, by the option's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from assistant.client.prompts import PromptTemplate
from assistant.core.extensions.interceptors import name_of
from assistant.core.toolcalls.protocols import Decision
from assistant.core.values.limits import Limits
from assistant.toolkit import Media, Tool
from assistant.toolkit.calls.gate import is_generator, positional_mistake


class _Kind(NamedTuple):
    """What an option takes: its type, and how that is called; of lists and mappings also the type of their values."""

    takes: Any
    name: str
    values: Any = object


_MAPPING = _Kind(Mapping, "a mapping")
_FUNCTIONS = _Kind(Sequence, "a list of functions")
_NUMBER = _Kind(int, "a whole number, 0 for no limit")
_KINDS = {
    "configs": _MAPPING,
    "context": _MAPPING,
    "options": _MAPPING,
    "secrets": _MAPPING,
    "variables": _MAPPING,
    "decisions": _Kind(Mapping, "a mapping of call ids to Decision values", Decision),
    "limits": _Kind(Limits, "a Limits"),
    "history_tokens": _NUMBER,
    "history_messages": _NUMBER,
    "search_over": _NUMBER,
    "extensions": _Kind(Iterable, "a list of Extension values"),
    "interceptors": _FUNCTIONS,
    "model_interceptors": _FUNCTIONS,
    "input_guardrails": _FUNCTIONS,
    "output_guardrails": _FUNCTIONS,
    "output_validators": _FUNCTIONS,
    "resolvers": _Kind(Sequence, "a list of registries and functions"),
    "client_tools": _Kind(Sequence, "a list of Tool values", Tool),
    "files": _Kind(Sequence, "a list of Media values", Media),
}

# What has these methods, which an option takes, and how that is called.
_METHODS = {
    "model": (("stream",), "a model, such as OpenAIModel('gpt-4.1-mini')"),
    "fallback": (("stream",), "a model, or a list of models"),
    "store": (("load", "append"), "something with load and append, such as InMemoryStore()"),
}
# Options whose functions yield what they give.
_MAY_YIELD = frozenset({"model_interceptors", "result_converter"})


def check_types(**options: Any) -> None:
    """Raise `TypeError` for a value of another type than its option takes, with what that is. None is passed over.

    Raise `ValueError` for a number below 0.
    """
    for name, value in options.items():
        if name in _METHODS and (value is not None or name == "model"):
            methods, wanted = _METHODS[name]
            given = value if name == "fallback" and isinstance(value, tuple | list) else [value]
            # A class has these too, and is none.
            if not all(
                not isinstance(one, type) and callable(getattr(one, method, None))
                for one in given
                for method in methods
            ):
                raise TypeError(f"{name} must be {wanted}, not {value!r}.")
        if name == "system" and not isinstance(value, str | PromptTemplate):
            raise TypeError(f"system must be a text or a PromptTemplate, not {type(value).__name__}.")
        kind = _KINDS.get(name)
        if kind is None or value is None:
            continue
        if not isinstance(value, kind.takes) or isinstance(value, str):
            # Not the value itself, which may hold a secret.
            raise TypeError(f"{name} must be {kind.name}, not {type(value).__name__}.")
        if kind is _NUMBER and value < 0:
            raise ValueError(f"{name} must be 0 for no limit, or more, not {value!r}.")
        if kind.values is not object:
            among: Iterable[object] = value.values() if isinstance(value, Mapping) else value
            for one in among:
                if not isinstance(one, kind.values):
                    raise TypeError(f"{name} must be {kind.name}; {one!r} is none.")
        if isinstance(value, Limits):
            check_limits(value)


def check_limits(limits: Limits) -> None:
    """Raise `TypeError` for a limit that is no number, and `ValueError` for one below 0."""
    for field in fields(limits):
        value = getattr(limits, field.name)
        if not isinstance(value, int | float):
            raise TypeError(f"{field.name} of Limits must be a number, 0 for no limit, not {value!r}.")
        if value < 0:
            raise ValueError(f"{field.name} of Limits must be 0 for no limit, or more, not {value!r}.")


def check_functions(count: int, **options: Sequence[Any]) -> None:
    """Raise `TypeError` for what is no function of so many arguments, by the options that it is given as.

    Raise it for a generator as well, whose body does not run when it is called.
    """
    for option, functions in options.items():
        for function in functions:
            mistake = positional_mistake(function, count)
            if not mistake and option not in _MAY_YIELD and is_generator(function):
                mistake = "is a generator, and must return its answer"
            if mistake:
                raise TypeError(f"{option}: {name_of(function)} {mistake}")
