"""Parses decimal numbers exactly: pydantic reads them as floats, which keep about 16 digits."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from assistant.toolkit.schema.alternatives import may_match
from assistant.toolkit.schema.json_schema import JsonSchema, resolve

# A number with fewer characters fits a float without loss.
_LONG = re.compile(r"[0-9][0-9.]{16}", re.ASCII)
_DECIMAL = "decimal"


class _DecimalMarker(GenerateJsonSchema):
    """Marks decimals in a schema, which otherwise look like numbers or strings."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        unmarked = super().decimal_schema(schema)
        return {"anyOf": [{**option, "format": _DECIMAL} for option in unmarked["anyOf"]]}


class _Number(float):
    """A number with more digits than a float keeps; `text` has all of them."""

    text: str


def decimals_of(adapter: TypeAdapter[Any], schema: JsonSchema) -> JsonSchema | None:
    """Return the schema with decimals marked; None if it has none."""
    if not any("number" in kinds and "string" in kinds for kinds in _kinds(schema)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        marked = adapter.json_schema(by_alias=True, schema_generator=_DecimalMarker)
    return marked if f"'format': '{_DECIMAL}'" in str(marked) else None


def with_all_digits(text: str, decimals: JsonSchema) -> Any:
    """Parse a JSON text, with long numbers as strings where the schema has decimals; None if it has no long number.

    Args:
        decimals: the schema, as returned by `decimals_of`.
    """
    if not _LONG.search(text):
        return None
    return exact_decimals(json.loads(text, parse_float=number_with_digits), decimals)


def exact_decimals(value: Any, decimals: JsonSchema) -> Any:
    """Return a value with its numbers of `number_with_digits` as strings where the schema has decimals, else floats."""
    return _exact(value, [decimals], decimals)


def number_with_digits(text: str) -> float:
    """Return a number of a JSON text that keeps its text, for `exact_decimals`."""
    number = _Number(text)
    number.text = text
    return number


def _exact(value: Any, schemas: list[Any], root: JsonSchema) -> Any:
    options = [option for schema in schemas for option in _options(schema, root, {})]
    if isinstance(value, _Number):
        is_decimal = any(option.get("format") == _DECIMAL for option in options)
        return value.text if is_decimal and _LONG.search(value.text) else float(value)
    if isinstance(value, dict):
        fitting = [o for o in options if "properties" not in o or may_match(value, o, root)]
        return {name: _exact(item, [_property(o, name) for o in fitting], root) for name, item in value.items()}
    if isinstance(value, list):
        return [_exact(item, [_item(o, index) for o in options], root) for index, item in enumerate(value)]
    return value


def _options(schema: Any, root: JsonSchema, seen: dict[int, Any]) -> Iterator[JsonSchema]:
    schema = resolve(schema, root)
    if id(schema) in seen:
        return
    seen[id(schema)] = schema
    yield schema
    for keyword in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(keyword, ()):
            yield from _options(option, root, seen)


def _property(schema: JsonSchema, name: str) -> Any:
    return schema.get("properties", {}).get(name, schema.get("additionalProperties"))


def _item(schema: JsonSchema, index: int) -> Any:
    prefix = schema.get("prefixItems", [])
    return prefix[index] if index < len(prefix) else schema.get("items")


def _kinds(node: Any) -> Iterator[set[Any]]:
    """Yield the types of the alternatives of each `anyOf` in a schema."""
    if isinstance(node, dict):
        if isinstance(node.get("anyOf"), list):
            yield {option.get("type") for option in node["anyOf"] if isinstance(option, dict)}
        node = list(node.values())
    for item in node if isinstance(node, list) else ():
        yield from _kinds(item)
