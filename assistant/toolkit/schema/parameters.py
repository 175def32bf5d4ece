"""Makes JSON Schemas for models from Python types."""

from __future__ import annotations

import re
import typing
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticOmit, SchemaError, core_schema

from assistant.toolkit.errors import InvalidTool
from assistant.toolkit.media import Media
from assistant.toolkit.schema.json_schema import JsonSchema, resolve
from assistant.toolkit.schema.own_functions import async_function_in
from assistant.toolkit.unknown_options import option_names, unknown_options

__all__ = ["JsonSchema", "Param", "arguments_adapter", "output_schema", "schema_of", "suspicious_parameters"]

_PYDANTIC_ERRORS = (
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    PydanticOmit,
    SchemaError,
    TypeError,
    NameError,
    ValueError,
)
_LITERALS = frozenset({"default", "examples", "const", "enum"})
# Names of context values; as parameters they would let the model choose the tenant or user to act for.
_CONTEXT_NAME = re.compile(
    "(the|this|my|our|own|for|as|by|onbehalfof|current|acting|active|calling|requesting|loggedin|signedin)*"
    "((tenant|user|member|organi[sz]ation|org|workspace)(id|slug|name|uuid|pk)?|company(id|slug|uuid|pk)"
    "|membership|runid|threadid|assistantid)"
)


class _SchemaGenerator(GenerateJsonSchema):
    """Describes bytes as tools handle them: arguments are UTF-8 unless the type says otherwise, results are base64."""

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        schema_of_bytes = super().bytes_schema(schema)
        del schema_of_bytes["format"]
        is_base64 = self.mode == "serialization" or self._config.val_json_bytes == "base64"
        return schema_of_bytes | {"format": "base64"} if is_base64 else schema_of_bytes


def Param(description: str = "", **constraints: Any) -> Any:  # noqa: N802 - reads as the annotation it is
    """Describe a parameter: `Annotated[int, Param("The customer's number", ge=1, examples=[42])]`.

    Takes what pydantic's `Field` takes: examples, ge, gt, le, lt, min_length, max_length, pattern, ...

    Raises:
        InvalidTool: a constraint is none of these; pydantic would write it into the schema, and never check it.
    """
    if mistake := unknown_options("Param() has no options", constraints, _field_options()):
        raise InvalidTool(mistake)
    return Field(description=description or None, **constraints)


@cache
def _field_options() -> list[str]:
    return [name for name in option_names(Field) if name != "description"]


def arguments_adapter(label: str, fields: Mapping[str, Any]) -> TypeAdapter[Any]:
    """Return a validator of an object; `fields` are pairs of type and pydantic field. Raises `InvalidTool`."""
    try:
        config = ConfigDict(extra="forbid", validate_by_name=False, validate_by_alias=True)
        return _with_sync_validators(label, TypeAdapter(create_model("Arguments", __config__=config, **dict(fields))))
    except _PYDANTIC_ERRORS as exc:
        raise InvalidTool(f"{label}: {_first_line(exc)}") from exc


def type_adapter(label: str, annotation: Any) -> TypeAdapter[Any]:
    """Return a validator of a type. Raises `InvalidTool`."""
    try:
        return _with_sync_validators(label, TypeAdapter(annotation))
    except _PYDANTIC_ERRORS as exc:
        raise InvalidTool(f"{label}: {_first_line(exc)}") from exc


def _with_sync_validators(label: str, adapter: TypeAdapter[Any]) -> TypeAdapter[Any]:
    refuse_async_functions(label, adapter)
    return adapter


def refuse_async_functions(label: str, adapter: TypeAdapter[Any]) -> None:
    """Raise `InvalidTool` if a validator calls an async function; `label` says what it validates."""
    if name := async_function_in(adapter):
        raise InvalidTool(f"{label}: the validator {name} is async, and pydantic awaits none.")


def schema_of(label: str, adapter: TypeAdapter[Any]) -> JsonSchema:
    """Return the schema of a validator's fields, for the model.

    Args:
        label: the function's name, for error messages.

    Raises:
        InvalidTool: the type has no JSON Schema, or is not an object.
    """
    result = _schema(label, adapter)
    if result.get("type") != "object":
        raise InvalidTool(f"{label}: the input must be an object with fields.")
    result.setdefault("properties", {})
    return result


def is_object(label: str, adapter: TypeAdapter[Any]) -> bool:
    """Return whether a type's values are objects. Raises `InvalidTool` if it has no JSON Schema."""
    return _schema(label, adapter).get("type") == "object"


def _schema(label: str, adapter: TypeAdapter[Any]) -> JsonSchema:
    try:
        with warnings.catch_warnings():
            # Defaults that are not JSON are left out of the schema.
            warnings.simplefilter("ignore")
            schema = adapter.json_schema(by_alias=True, schema_generator=_SchemaGenerator)
    except _PYDANTIC_ERRORS as exc:
        raise InvalidTool(f"{label}: {_first_line(exc)}") from exc
    result: JsonSchema = _closed(_without_titles(_inlined(schema), is_properties=False), is_properties=False)
    return result


def has_open_objects(schema: Any) -> bool:
    """Whether some object with declared properties also allows others."""
    if isinstance(schema, list):
        return any(map(has_open_objects, schema))
    if not isinstance(schema, dict):
        return False
    is_open = isinstance(schema.get("properties"), dict) and schema.get("additionalProperties", False) is not False
    return is_open or any(has_open_objects(value) for key, value in schema.items() if key not in _LITERALS)


def output_schema(returned: Any) -> JsonSchema | None:
    """Return the schema of a return annotation; None if it has none."""
    if returned in (None, Any, object, str, type(None), Media) or Media in typing.get_args(returned):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schema = TypeAdapter(returned).json_schema(
                mode="serialization", by_alias=False, schema_generator=_SchemaGenerator
            )
    except _PYDANTIC_ERRORS:
        return None
    return typing.cast(JsonSchema, _without_titles(_inlined(schema), is_properties=False)) or None


def _first_line(exc: BaseException) -> str:
    return (str(exc).splitlines() or [type(exc).__name__])[0]


def _inlined(schema: JsonSchema) -> JsonSchema:
    """Replace a reference at the top level, which recursive types have, by its definition."""
    return resolve(schema, schema) | {"$defs": schema["$defs"]} if "$ref" in schema else schema


def _without_titles(node: Any, *, is_properties: bool) -> Any:
    """Remove generated titles, which only cost tokens."""
    if isinstance(node, list):
        return [_without_titles(item, is_properties=False) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: value
        if key in _LITERALS and not is_properties
        else _without_titles(value, is_properties=key in {"properties", "$defs"} and not is_properties)
        for key, value in node.items()
        if is_properties or key != "title"
    }


def _closed(node: Any, *, is_properties: bool) -> Any:
    """Forbid further properties of objects with declared ones, unless the schema allows them."""
    if isinstance(node, list):
        return [_closed(item, is_properties=False) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {
        key: value
        if key in _LITERALS and not is_properties
        else _closed(value, is_properties=key in {"properties", "$defs"} and not is_properties)
        for key, value in node.items()
    }
    if not is_properties and closed.get("type") == "object" and isinstance(closed.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed


def suspicious_parameters(schema: JsonSchema) -> list[str]:
    """Return the names of properties, at any depth, that look like context, such as `tenant_id`."""
    found: set[str] = set()

    def collect(node: Any) -> None:
        if isinstance(node, dict):
            properties = node.get("properties")
            names = properties if isinstance(properties, dict) else ()
            found.update(n for n in names if _CONTEXT_NAME.fullmatch(n.lower().replace("_", "").replace("-", "")))
        for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            collect(value)

    collect(schema)
    return sorted(found)
