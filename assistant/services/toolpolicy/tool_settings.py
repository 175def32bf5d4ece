"""Merges and validates a tool's stored settings and secrets. Error messages repeat no stored value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError

from assistant.toolkit import Tool
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.schema.bounds import InvalidSchema
from assistant.toolkit.schema.check import TooCostly
from assistant.toolkit.schema.error_sentences import ROOT, UNDESCRIBED, Problem
from assistant.toolkit.schema.exact_types import ExactTypes, exact_types_of
from assistant.toolkit.validation_errors import problems

# What errors of the settings as a whole are called, and how many one message has.
_WHOLE, _MAX_PROBLEMS = "settings", 5


def read_config(tool: Tool, layers: Iterable[object]) -> Any:
    """Merge layers of settings, the later ones first; return the tool's `config` model, or a read-only mapping.

    Values are of the declared types, as arguments are: digits are no date, and true is no number.

    Raises:
        ValueError: the settings are not valid; the message names the fields.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        if not isinstance(layer, Mapping):
            raise ValueError("they must be a JSON object.")
        merged |= layer
    if tool.config is None:
        return MappingProxyType(merged)
    converted = _converted(tool.config, merged)
    found: list[Problem] = []
    config: BaseModel | None = None
    try:
        config = tool.config.model_validate_json(json.dumps(merged), strict=True)
    except ValidationError as exc:
        found = problems(exc, root=_WHOLE)
    if config is None or converted:
        named = {path for path, _ in converted}
        every = [*converted, *(problem for problem in found if problem[0] not in named)]
        raise ValueError("; ".join(f"{path}: {problem}" for path, problem in every[:_MAX_PROBLEMS]) + ".")
    return config


def read_secrets(layers: Iterable[str]) -> Mapping[str, str]:
    """Merge layers of secrets by name. Raises `ValueError` unless each is empty or a JSON object of strings."""
    merged: dict[str, str] = {}
    for text in layers:
        try:
            found = load_json(text) if text else {}
        except ValueError:
            raise ValueError("the secrets are not JSON.") from None
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise ValueError("the secrets must be a JSON object of strings.")
        merged |= found
    return MappingProxyType(merged)


def _converted(config: type[BaseModel], merged: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of values that pydantic would convert to another type."""
    try:
        exact = _exact_types(config)
        found = [] if exact is None else exact.problems(merged)
    except TooCostly:
        found = [(ROOT, UNDESCRIBED)]
    except (InvalidSchema, PydanticUserError):
        raise ValueError(f"{_WHOLE}: their types cannot be checked.") from None
    # Of alternatives, several say the same.
    return list(dict.fromkeys((_WHOLE if path == ROOT else path, problem) for path, problem in found))


@lru_cache(maxsize=256)
def _exact_types(config: type[BaseModel]) -> ExactTypes | None:
    return exact_types_of(TypeAdapter(config), is_closed=False)
