"""Reads JSON Schemas: references, and the kinds of values that a schema allows."""

from __future__ import annotations

from typing import Any

JsonSchema = dict[str, Any]
_MAX_REFERENCES = 50
# Alternatives of one schema that are examined, nested ones included.
MAX_ALTERNATIVES = 300


class TooManySteps(Exception):
    """A schema has too many alternatives to examine."""


class Steps:
    """A budget of schemas and properties to examine: in some schemas their number doubles on every level of a value."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, number: int = 1) -> None:
        """Use up steps. Raises `TooManySteps` if none are left."""
        self._left -= number
        if self._left < 0:
            raise TooManySteps


def resolve(schema: Any, root: JsonSchema) -> JsonSchema:
    """Follow a schema's `$ref` within `root`; one that does not exist gives an empty schema, which allows anything."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(schema, dict):
            return {} if schema is not False else {"enum": []}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = _find(reference, root)
    return {}


def _find(reference: str, root: JsonSchema) -> Any:
    node: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        node = node.get(key) if isinstance(node, dict) else None
    return node


def kind_of(value: Any) -> str:
    """Return JSON Schema's name for the type of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list | tuple) else "object"


# Keywords that say what is meant where a schema names no type.
_OF_OBJECTS = frozenset({"properties", "patternProperties", "additionalProperties", "propertyNames", "required"})
_OF_ARRAYS = frozenset({"items", "prefixItems", "contains"})


def kinds_of(
    schema: Any, root: JsonSchema, steps: Steps | None = None, *, is_implied: bool = False
) -> frozenset[str] | None:
    """Return the types of values that a schema allows; None for any. "number" includes "integer".

    Args:
        is_implied: a schema without a type that has properties, or items, is taken for one of objects, or of arrays.
    """
    seen: dict[int, Any] = {}
    found = _kinds_of(schema, root, seen, is_implied)
    if steps is not None:
        steps.take(len(seen))
    return found


def allows_kind(value: Any, kinds: frozenset[str] | None) -> bool:
    """Whether a value is of one of these types."""
    return kinds is None or (kind := kind_of(value)) in kinds or (kind == "integer" and "number" in kinds)


def _kinds_of(schema: Any, root: JsonSchema, seen: dict[int, Any], is_implied: bool) -> frozenset[str] | None:
    schema = resolve(schema, root)
    seen[id(schema)] = schema
    if len(seen) > MAX_ALTERNATIVES:
        return None
    declared = schema.get("type")
    if isinstance(declared, str | list):
        return frozenset([declared] if isinstance(declared, str) else declared)
    if "const" in schema or isinstance(schema.get("enum"), list):
        return frozenset(kind_of(value) for value in schema.get("enum", [schema.get("const")]))
    found: frozenset[str] = frozenset()
    for option in schema.get("anyOf") or schema.get("oneOf") or ():
        # Schemas seen before are already included.
        if id(resolve(option, root)) not in seen:
            kinds = _kinds_of(option, root, seen, is_implied)
            if kinds is None:
                return None
            found |= kinds
    if found:
        return found
    if is_implied and schema.keys() & (_OF_OBJECTS | _OF_ARRAYS):
        objects = {"object"} if schema.keys() & _OF_OBJECTS else set()
        arrays = {"array"} if schema.keys() & _OF_ARRAYS else set()
        return frozenset(objects | arrays)
    for option in schema.get("allOf") or ():
        if id(resolve(option, root)) not in seen and (kinds := _kinds_of(option, root, seen, is_implied)) is not None:
            return kinds
    return None
