"""Values of a tool's `config`, from the settings that a tenant, a program or a test gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pydantic_core
from pydantic import BaseModel, PydanticUserError, SecretBytes, SecretStr, TypeAdapter, ValidationError

from assistant.toolkit.calls.arguments import form_of_error
from assistant.toolkit.calls.left_awaitables import AwaitableLeft, refuse_awaitable_inputs, refuse_awaitables
from assistant.toolkit.errors import InvalidTool
from assistant.toolkit.schema.bounds import InvalidSchema
from assistant.toolkit.schema.check import TooCostly
from assistant.toolkit.schema.error_sentences import ROOT, UNDESCRIBED, Problem
from assistant.toolkit.schema.exact_types import ExactTypes, exact_types_of
from assistant.toolkit.schema.own_functions import has_own_functions
from assistant.toolkit.unknown_options import unknown_options
from assistant.toolkit.validation_errors import error_details, path_of

if TYPE_CHECKING:
    from assistant.toolkit.definition.tool import Tool

# What errors of the settings as a whole are called, and how many one message has.
_WHOLE = "settings"
_MAX_PROBLEMS = 5


def given_config(tool: Tool, given: Any) -> Any:
    """Return the `context.config` of a tool from what a program or a test gives: a value of `config`, or a mapping.

    Raises:
        InvalidTool: the settings are not valid.
    """
    if tool.config is None or isinstance(given, tool.config):
        return given
    try:
        if not isinstance(given, Mapping | None):
            raise ValueError(f"{_WHOLE}: they must be a mapping, not a {type(given).__name__}.")
        return config_of(tool.config, given or {})
    except ValueError as exc:
        raise InvalidTool(f"The settings of tool {tool.name!r} are not valid: {exc}") from exc


def given_secrets(tool: Tool, given: Any) -> Mapping[str, str]:
    """Return the secrets of a tool, from those that a program gives by their names.

    Raises:
        InvalidTool: one is not declared by the tool, or no text.
    """
    if given is None:
        return {}
    whose = f"The secrets of tool {tool.name!r}"
    if not isinstance(given, Mapping):
        # Not the value itself, which is a secret.
        raise InvalidTool(f"{whose} must be a mapping of names to texts, not {type(given).__name__}.")
    if not tool.secrets and given:
        raise InvalidTool(f"{whose} name {', '.join(given)}, but it declares none: @tool(secrets=[...]) does.")
    if mistake := unknown_options(f"Tool {tool.name!r} declares no secrets", given, tool.secrets):
        raise InvalidTool(mistake)
    for name, value in given.items():
        if not isinstance(value, str):
            raise InvalidTool(f"{whose}: {name} must be a text, not {type(value).__name__}.")
    return given


def config_of(model: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    """Return settings as a value of a tool's `config`.

    Values are of the declared types, as arguments are: digits are no date, and true is no number.

    Raises:
        ValueError: the settings are not valid; the message names the fields, and repeats no value.
    """
    try:
        merged = pydantic_core.to_jsonable_python(_without_masks(given))
        text = json.dumps(merged)
    except (ValueError, TypeError, RecursionError):
        raise ValueError(f"{_WHOLE}: they cannot be written as JSON.") from None
    converted = _converted(model, merged)
    found: list[Problem] = []
    config: BaseModel | None = None
    try:
        config = model.model_validate_json(text, strict=True)
        if calls_functions(model):
            refuse_awaitables(config)
    except ValidationError as exc:
        _refuse_awaitable_inputs(exc)
        found = [
            (path_of(error["loc"]) or _WHOLE, error["msg"] + form_of_error(error["type"]))
            for error in error_details(exc)
        ]
    except AwaitableLeft as exc:
        raise ValueError(f"{exc}.") from None
    if config is None or converted:
        # What pydantic refuses itself, it says better: with the right form.
        named = {path for path, _ in found}
        every = [*found, *(problem for problem in converted if problem[0] not in named)]
        raise ValueError("; ".join(f"{path}: {problem}" for path, problem in every[:_MAX_PROBLEMS]) + ".")
    return config


@lru_cache(maxsize=256)
def calls_functions(model: type[BaseModel]) -> bool:
    """Whether validating settings of a tool's `config` calls functions of its author, which may wait."""
    return has_own_functions(TypeAdapter(model))


def _refuse_awaitable_inputs(exc: ValidationError) -> None:
    try:
        refuse_awaitable_inputs(exc)
    except AwaitableLeft as left:
        raise ValueError(f"{left}.") from None


def _without_masks(value: Any) -> Any:
    """Return values with the texts of pydantic's secrets, which are written as asterisks."""
    if isinstance(value, Mapping):
        return {key: _without_masks(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_masks(item) for item in value]
    return value.get_secret_value() if isinstance(value, SecretStr | SecretBytes) else value


def _converted(model: type[BaseModel], merged: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of values that pydantic would convert to another type."""
    try:
        exact = _exact_types(model)
        found = [] if exact is None else exact.problems(merged)
    except TooCostly:
        found = [(ROOT, UNDESCRIBED)]
    except (InvalidSchema, PydanticUserError):
        raise ValueError(f"{_WHOLE}: their types cannot be checked.") from None
    # Of alternatives, several say the same.
    return list(dict.fromkeys((_WHOLE if path == ROOT else path, problem) for path, problem in found))


@lru_cache(maxsize=256)
def _exact_types(model: type[BaseModel]) -> ExactTypes | None:
    return exact_types_of(TypeAdapter(model), is_closed=False)
