"""Checks the options of a tool for contradictions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, PydanticUserError, TypeAdapter

from assistant.toolkit.calls.gate import is_generator, positional_mistake
from assistant.toolkit.definition.failures import mistake_in
from assistant.toolkit.definition.results import takes_type
from assistant.toolkit.definition.texts import is_blank
from assistant.toolkit.errors import InvalidTool
from assistant.toolkit.schema.parameters import refuse_async_functions

if TYPE_CHECKING:
    from assistant.toolkit.definition.tool import Tool

# The options that are functions, and how many positional arguments each takes. `requires_approval` can be one too.
_FUNCTIONS: Mapping[str, int] = {
    "available": 1,
    "describe": 1,
    "known_destination": 2,
    "asks": 1,
    "preview": 2,
    "result_converter": 1,
}
_MAY_YIELD = frozenset({"preview", "result_converter"})
_YES_OR_NO = (
    "return_direct",
    "read_only",
    "idempotent",
    "untrusted",
    "lists_choices",
    "enabled_by_default",
    "atomic",
    "barrier",
    "waits",
    "is_client_side",
    "is_provider_side",
)
_YES_NO_OR_UNKNOWN = ("destructive", "open_world")
_NUMBERS = (
    ("timeout", int | float, "a number of seconds"),
    ("retry_delay", int | float, "a number of seconds"),
    ("retries", int, "a whole number"),
    ("max_calls", int, "a whole number"),
)
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)


def _check_numbers(tool: Tool) -> None:
    for option, kind, called in _NUMBERS:
        value = getattr(tool, option)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise InvalidTool(f"The {option} of tool {tool.name!r} must be {called}, not a {type(value).__name__}.")


def check_definition(tool: Tool) -> None:
    """Raise `InvalidTool` for invalid or contradictory options."""
    if not isinstance(tool.name, str) or not NAME.fullmatch(tool.name):
        raise InvalidTool(f"A tool's name matches {NAME.pattern}; {tool.name!r} does not.")
    _check_yes_or_no(tool)
    _check_numbers(tool)
    mistakes = {
        "has no description; the model chooses tools by it": is_blank(tool, "description") and not tool.is_client_side,
        "must have the JSON Schema of an object as its parameters": not isinstance(tool.parameters, dict)
        or tool.parameters.get("type", "object") != "object",
        "has neither a handler nor runs at the client": tool.handler is None
        and not (tool.is_client_side or tool.is_provider_side),
        "must have a timeout above 0": tool.timeout is not None and not tool.timeout > 0,
        "must have max_calls above 0": tool.max_calls is not None and tool.max_calls < 1,
        "cannot have a negative number of retries": tool.retries < 0 or tool.retry_delay < 0,
        'must have a permission such as "app.codename"': tool.permission is not None
        and not (isinstance(tool.permission, str) and all(tool.permission.partition("."))),
        "must have a pydantic model as its config": tool.config is not None
        and not (isinstance(tool.config, type) and issubclass(tool.config, BaseModel)),
        "must have a pydantic model as its augmentation": tool.augmentation is not None
        and not (isinstance(tool.augmentation, type) and issubclass(tool.augmentation, BaseModel)),
        "runs at the provider, which fills no augmentation": tool.augmentation is not None and tool.is_provider_side,
        "is async, and only a sync function can be atomic": tool.atomic and tool.is_async,
        "has secrets, needs_context or destinations that are no sequences of names": any(
            isinstance(names, str)
            for names in (tool.secrets, tool.needs_context, tool.destinations, tool.destination_texts)
        ),
        "has destination_texts or known_destination without destinations": not tool.destinations
        and (bool(tool.destination_texts) or tool.known_destination is not None),
    }
    for mistake, is_made in mistakes.items():
        if is_made:
            raise InvalidTool(f"Tool {tool.name!r} {mistake}.")
    if tool.config is not None:
        with suppress(PydanticUserError):  # a type in it that is not defined yet
            refuse_async_functions(f"The config of tool {tool.name!r}", TypeAdapter(tool.config))
    if mistake := mistake_in(tool.on_error):
        raise InvalidTool(f"The on_error of tool {tool.name!r} {mistake}.")
    functions = {option: function for option in _FUNCTIONS if (function := getattr(tool, option)) is not None}
    if not isinstance(tool.requires_approval, bool):
        functions["requires_approval"] = tool.requires_approval
    for option, function in functions.items():
        if mistake := _mistake_in(option, function):
            raise InvalidTool(f"The {option} of tool {tool.name!r} {mistake}.")


def _check_yes_or_no(tool: Tool) -> None:
    # Anything else would count as yes: a function too, which these options do not take.
    for option in (*_YES_OR_NO, *_YES_NO_OR_UNKNOWN):
        value = getattr(tool, option)
        if isinstance(value, bool) or (value is None and option in _YES_NO_OR_UNKNOWN):
            continue
        allowed = "True, False or None" if option in _YES_NO_OR_UNKNOWN else "True or False"
        raise InvalidTool(f"The {option} of tool {tool.name!r} must be {allowed}, not a {type(value).__name__}.")


def _mistake_in(option: str, function: Any) -> str:
    if option not in _MAY_YIELD and is_generator(function):
        return "is a generator, and must return its answer"
    if option == "result_converter" and takes_type(function):
        return ""
    return positional_mistake(function, _FUNCTIONS.get(option, 2))
