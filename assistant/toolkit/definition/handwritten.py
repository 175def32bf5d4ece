"""Tools whose JSON Schema is handwritten or comes from a remote server."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assistant.toolkit.calls.arguments import Arguments, coerce, invalid_arguments
from assistant.toolkit.definition.context_annotations import is_context
from assistant.toolkit.errors import InvalidArguments, InvalidTool
from assistant.toolkit.schema.bounds import SAME_VALUE
from assistant.toolkit.schema.check import TooCostly, checker_of
from assistant.toolkit.schema.json_schema import JsonSchema


@dataclass(frozen=True, slots=True)
class HandWritten:
    """A schema, and how the tool's handler takes the arguments: as keywords or as one mapping.

    Attributes:
        contexts: the parameters that take the context.
        takes_mapping: whether the handler takes one mapping.
        mapping_name: the parameter that takes it; None if it is passed by position.
        owner, output, has_functions: always None or False; `Signature` has them too.
    """

    parameters: JsonSchema
    contexts: tuple[str, ...] = ()
    takes_mapping: bool = False
    mapping_name: str | None = None
    owner: None = None
    output: JsonSchema | None = None
    has_functions: bool = False

    def check(self, arguments: Arguments) -> dict[str, Any]:
        """Return the validated arguments. Raises `InvalidArguments`, which lists each invalid field."""
        try:
            json.dumps(arguments.parsed, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InvalidArguments(
                "The arguments contain half of a surrogate pair, which is not valid Unicode."
            ) from None
        try:
            checked: dict[str, Any] = coerce(arguments.parsed, self.parameters, self.parameters)
            problems = checker_of(closed(self.parameters)).problems(checked)
        except TooCostly:
            raise InvalidArguments("The arguments are too large to be checked against the tool's schema.") from None
        except (RecursionError, ValueError):
            raise InvalidArguments("The arguments cannot be checked against the tool's schema.") from None
        if problems:
            raise invalid_arguments(problems, self.parameters)
        return checked

    def as_mapping(self, checked: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and keyword arguments of a call of a handler that takes one mapping."""
        return ((checked,), {}) if self.mapping_name is None else ((), {self.mapping_name: checked})


def closed(parameters: JsonSchema) -> JsonSchema:
    """Return the schema with unknown properties forbidden, which JSON Schema allows by default.

    A schema whose properties are declared in a reference or in alternatives is returned unchanged.
    """
    has_indirect_properties = "$ref" in parameters or any(keyword in parameters for keyword in SAME_VALUE)
    has_direct_properties = "properties" in parameters and "$ref" not in parameters
    if has_indirect_properties and not has_direct_properties:
        return parameters
    return {"additionalProperties": False, **parameters}


def read_handler(name: str, handler: Callable[..., Any], parameters: JsonSchema) -> HandWritten:
    """Determine how a handler takes arguments: as keywords named like the properties, or as one mapping.

    Raises:
        InvalidTool: the handler takes neither.
    """
    try:
        found = list(inspect.signature(handler, eval_str=False).parameters.values())
    except (ValueError, TypeError):
        return HandWritten(parameters, takes_mapping=True)
    properties = parameters.get("properties", {})
    # Lambdas have no annotations, so their context is recognised by its name.
    contexts = tuple(
        p.name
        for p in found
        if is_context(p.annotation)
        or (p.name == "context" and p.annotation is p.empty and p.name not in properties and len(found) > 1)
    )
    candidates = [p for p in found if p.name not in contexts]
    required = [p for p in candidates if p.default is p.empty and p.kind not in {p.VAR_KEYWORD, p.VAR_POSITIONAL}]
    by_name = {p.name for p in candidates if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}}
    takes_any_name = any(p.kind is p.VAR_KEYWORD for p in candidates)
    # If the schema allows further properties, the handler must accept any keyword.
    is_open = parameters.get("additionalProperties", False) is not False or "patternProperties" in parameters
    takes_all = takes_any_name or (by_name >= set(properties) and not is_open)
    if all(p.name in properties and p.name in by_name for p in required) and takes_all:
        return HandWritten(parameters, contexts)
    if len(required) == 1 and required[0].name not in properties:
        by_position = required[0].kind is inspect.Parameter.POSITIONAL_ONLY
        return HandWritten(parameters, contexts, True, None if by_position else required[0].name)
    if not required and candidates and candidates[0].name not in properties:
        by_position = candidates[0].kind in {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}
        return HandWritten(parameters, contexts, True, None if by_position else candidates[0].name)
    beyond = "what its schema allows besides its properties" if is_open else "its arguments"
    missing = ", ".join(sorted(set(properties) - by_name)) or beyond
    raise InvalidTool(f"The handler of tool {name!r} takes neither one mapping nor {missing}.")
