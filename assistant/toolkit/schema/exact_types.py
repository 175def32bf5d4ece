"""Finds values of another type than a tool declares, where pydantic would convert them: digits are no date.

Even strictly, pydantic reads a text of digits as seconds since 1970, true as an enumeration's 1, and a number as an IP
address.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from assistant.toolkit.schema.check import Checker
from assistant.toolkit.schema.error_sentences import ROOT, Problem, sentences_of
from assistant.toolkit.schema.json_schema import JsonSchema, resolve

DATE_FORM = '"2031-03-07"'
DATETIME_FORM = '"2031-03-07T10:30:00"'
ZONED_FORM = '"2031-03-07T10:30:00+01:00"'
# What a text must contain to be one: something that no number has. Each kind has a pattern of its own, by which its
# sentence is found.
_DATE, _DATETIME, _ZONED, _EITHER = r"^[0-9]{4}-|[^-+.0-9]", "[^-+.0-9]", "[^+.0-9-]", r"[^-+.0-9]|^[0-9]{4}-"
_SENTENCES = {
    _DATE: f"must be a date, such as {DATE_FORM}",
    _DATETIME: f"must be a date and time, such as {DATETIME_FORM}",
    _ZONED: f"must be a date and time with its offset, such as {ZONED_FORM}",
    _EITHER: f"must be a date, such as {DATE_FORM}, or a date and time, such as {DATETIME_FORM}",
}
_MOMENT = "x-moment"
_IS_CONVERTED = "x-converted"
_KEPT = frozenset({"$ref", "type", "enum", "const", "required"})
_MAPS = frozenset({"properties", "$defs"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset({"items", "additionalProperties", "propertyNames"})


class ExactTypes:
    """The types of a tool's arguments, or of an answer."""

    def __init__(self, schema: JsonSchema) -> None:
        """Raises `InvalidSchema` if the schema is beyond the limits of `bounds`."""
        self._checker = Checker(schema)

    def problems(self, value: Any) -> list[Problem]:
        """Return the path and a description of each value of another type. Raises `TooCostly`."""
        return self._checker.problems(value, _problems)


def chosen_sentence(said: str, converted: str) -> str:
    """Return what to say of a value that pydantic refuses and would convert: the one that has the right form."""
    return converted if converted in _SENTENCES.values() and '"2031-' not in said else said


def exact_types_of(adapter: TypeAdapter[Any], *, is_closed: bool) -> ExactTypes | None:
    """Return the types that a validator declares; None if pydantic itself keeps to them.

    Types with a validator function of their own take what that function takes.

    Args:
        is_closed: whether objects take declared properties alone.

    Raises:
        InvalidSchema: the schema is beyond the limits of `bounds`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        marked = adapter.json_schema(by_alias=True, schema_generator=_Marker)
    if not _is_converted(marked):
        return None
    schema: JsonSchema = _types_only(marked, marked, is_closed)
    return ExactTypes(schema)


class _Marker(GenerateJsonSchema):
    """Marks the types for which pydantic takes other values than the schema says."""

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        return {"type": "string", _MOMENT: _ZONED if schema.get("tz_constraint") == "aware" else _DATETIME}

    def date_schema(self, schema: core_schema.DateSchema) -> JsonSchemaValue:
        return {"type": "string", _MOMENT: _DATE}

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonSchemaValue:
        return {**super().complex_schema(schema), _IS_CONVERTED: True}

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        return super().function_before_schema(schema) if "json_schema_input_schema" in schema else {}

    def function_wrap_schema(self, schema: core_schema.WrapValidatorFunctionSchema) -> JsonSchemaValue:
        return super().function_wrap_schema(schema) if "json_schema_input_schema" in schema else {}

    def function_plain_schema(self, schema: core_schema.PlainValidatorFunctionSchema) -> JsonSchemaValue:
        return super().function_plain_schema(schema) if "json_schema_input_schema" in schema else {}


def _is_converted(node: Any) -> bool:
    """Whether a marked schema has a type for which pydantic takes other values."""
    if isinstance(node, list):
        return any(map(_is_converted, node))
    if not isinstance(node, dict):
        return False
    values = node["enum"] if isinstance(node.get("enum"), list) else [node.get("const")]
    return (
        any(isinstance(value, int | float) for value in values)
        or _MOMENT in node
        or _IS_CONVERTED in node
        or str(node.get("format", "")).startswith("ipvany")
        or any(map(_is_converted, node.values()))
    )


def _types_only(node: Any, root: JsonSchema, is_closed: bool) -> Any:
    """Return a marked schema without constraints, which pydantic checks, and with patterns for the marks."""
    if not isinstance(node, dict):
        return node
    found: JsonSchema = {}
    for key, value in node.items():
        if key in _KEPT:
            found[key] = value
        elif key in _MAPS:
            found[key] = {name: _types_only(item, root, is_closed) for name, item in value.items()}
        elif key in _LISTS:
            # Of alternatives without their constraints, several may fit.
            found["anyOf" if key == "oneOf" else key] = [_types_only(item, root, is_closed) for item in value]
        elif key in _SCHEMAS:
            found[key] = _types_only(value, root, is_closed)
    if is_closed and found.get("type") == "object" and "properties" in found:
        found.setdefault("additionalProperties", False)
    patterns = set(_moments(node, root, {}))
    if patterns:
        # Beside the alternatives too: pydantic prefers a moment to a text.
        found["pattern"] = patterns.pop() if len(patterns) == 1 else _EITHER
    return found


def _moments(node: Any, root: JsonSchema, seen: dict[int, Any]) -> Iterator[str]:
    """Yield the pattern of each moment that a value of a schema may be."""
    schema = resolve(node, root)
    if id(schema) in seen:
        return
    seen[id(schema)] = schema
    if _MOMENT in schema:
        yield schema[_MOMENT]
    for keyword in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(keyword, ()):
            yield from _moments(option, root, seen)


def _problems(errors: Iterable[ValidationError]) -> Iterator[Problem]:
    for error in errors:
        moments = list(_moments_in(error))
        if moments:
            yield from moments
        elif not isinstance(error.kind, ValidationErrorKind.Required | ValidationErrorKind.AdditionalProperties):
            # pydantic itself knows missing and unknown properties, and more names of known ones.
            yield from sentences_of([error])


def _moments_in(error: ValidationError) -> Iterator[Problem]:
    """Yield the problems of an error, or of the alternatives that it is about, that are about moments."""
    match error.kind:
        case ValidationErrorKind.AnyOf(context=context):
            for inner in (one for option in context for one in option):
                yield from _moments_in(inner)
        case ValidationErrorKind.Pattern(pattern=pattern):
            yield ".".join(map(str, error.instance_path)) or ROOT, _SENTENCES[pattern]
        case ValidationErrorKind.PropertyNames(error=inner):
            for _, sentence in _moments_in(inner):
                yield ".".join(map(str, error.instance_path)) or ROOT, f"each name {sentence}"
