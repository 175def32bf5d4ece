"""Argument augmentation: fields that the model fills beside a tool's parameters, and that the tool never gets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
from pydantic import BaseModel

from assistant.toolkit.calls.arguments import Arguments, parse_arguments
from assistant.toolkit.definition.signature import Signature
from assistant.toolkit.errors import InvalidArguments, InvalidTool
from assistant.toolkit.schema.bounds import SAME_VALUE
from assistant.toolkit.schema.json_schema import JsonSchema
from assistant.toolkit.schema.own_functions import has_own_functions
from assistant.toolkit.schema.parameters import has_open_objects, schema_of, type_adapter

_WHOLE = "augmentation"


@dataclass(frozen=True, slots=True)
class Augmentation:
    """The fields of a pydantic model, as parameters that come before a tool's own.

    Attributes:
        names: the fields' names in the arguments.
        signature: reads their values.
    """

    names: frozenset[str]
    signature: Signature

    def check_clash(self, tool: str, parameters: JsonSchema) -> None:
        """Raise `InvalidTool` if a tool with these parameters cannot have the fields."""
        if clash := sorted(self.names & parameters.get("properties", {}).keys()):
            raise InvalidTool(
                f"Tool {tool!r} has parameters of its own named {', '.join(clash)}: name the fields of its "
                "augmentation otherwise."
            )
        if not takes_fields(parameters):
            raise InvalidTool(f"Tool {tool!r} has alternatives as its parameters, to which no fields can be added.")

    def added_to(self, parameters: JsonSchema) -> JsonSchema:
        """Return a tool's parameters with the fields."""
        fields = _with_own_definitions(self.signature.parameters)
        definitions = {**fields.get("$defs", {}), **parameters.get("$defs", {})}
        required = [*fields.get("required", ()), *parameters.get("required", ())]
        return {
            **parameters,
            "properties": {**fields["properties"], **parameters.get("properties", {})},
            **({"required": required} if required else {}),
            **({"$defs": definitions} if definitions else {}),
        }

    def values(self, arguments: Arguments) -> BaseModel:
        """Return the validated fields of a call's arguments. Raises `InvalidArguments`."""
        given = {name: value for name, value in arguments.parsed.items() if name in self.names}
        checked: BaseModel = self.signature.check(Arguments(json.dumps(given), given))[_WHOLE]
        return checked

    def without_fields(self, arguments: Arguments) -> Arguments:
        """Return a call's arguments without the fields, each as the model has written it."""
        own = {name: value for name, value in arguments.parsed.items() if name not in self.names}
        try:
            written = msgspec.json.decode(arguments.text, type=dict[str, msgspec.Raw])
            text = msgspec.json.encode({name: written[name] for name in own}).decode()
        except (msgspec.MsgspecError, KeyError, UnicodeError):
            text = json.dumps(own)
        return Arguments(text, own)

    def own_arguments(self, arguments: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
        """Return the same as `without_fields`, of arguments that may be no JSON object: these stay as they are."""
        if not isinstance(arguments, str):
            return {name: value for name, value in arguments.items() if name not in self.names}
        try:
            return self.without_fields(parse_arguments(arguments)).text
        except InvalidArguments:
            return arguments

    def completed(self, edited: Mapping[str, Any], arguments: str) -> Mapping[str, Any]:
        """Return arguments that a person has edited, with the fields of the model's if they have none."""
        try:
            parsed = parse_arguments(arguments).parsed
        except InvalidArguments:
            return edited
        return {**{name: parsed[name] for name in parsed if name in self.names}, **edited}


@lru_cache(maxsize=256)
def augmentation_of(model: type[BaseModel]) -> Augmentation:
    """Return what a model adds to tools. Raises `InvalidTool` if it has no fields, or no JSON Schema."""
    label = model.__name__
    validator = type_adapter(label, model)
    schema = schema_of(label, validator)
    if not schema["properties"]:
        raise InvalidTool(f"{label}: an augmentation has fields.")
    return Augmentation(
        frozenset(schema["properties"]),
        Signature(
            parameters=schema,
            validator=validator,
            names={},
            contexts=(),
            single=_WHOLE,
            is_open=has_open_objects(schema),
            has_functions=has_own_functions(validator),
        ),
    )


def takes_fields(parameters: JsonSchema) -> bool:
    """Whether fields can be added to parameters: their properties are not all declared elsewhere or in alternatives."""
    return "$ref" not in parameters and (
        "properties" in parameters or not any(keyword in parameters for keyword in SAME_VALUE)
    )


def _with_own_definitions(schema: JsonSchema) -> JsonSchema:
    """Return the fields' schema with other names of definitions than a tool has, which may have types of one name."""
    names = {f"#/$defs/{name}": f"#/$defs/{_WHOLE}.{name}" for name in schema.get("$defs", ())}
    renamed: JsonSchema = _renamed(schema, names) if names else schema
    if names:
        renamed["$defs"] = {f"{_WHOLE}.{name}": node for name, node in renamed["$defs"].items()}
    return renamed


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    if isinstance(node, list):
        return [_renamed(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: names.get(value, value) if key == "$ref" and isinstance(value, str) else _renamed(value, names)
        for key, value in node.items()
    }
