"""The strict form of a schema, which some providers guarantee to follow: every property is required."""

from __future__ import annotations

from typing import Any

from assistant.toolkit.schema.alternatives import are_distinguishable
from assistant.toolkit.schema.json_schema import JsonSchema, Steps, TooManySteps, kinds_of

# Constraints that the strict form does not allow. They are moved to the description, and still validated.
_CONSTRAINT_TEXTS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "must match {}",
    "format": "format: {}",
    "default": "default: {}",
}
# What OpenAI takes of a strict schema (https://developers.openai.com/api/docs/guides/structured-outputs, "Supported
# schemas"): properties, levels, values of all enums, characters of one enum's values above so many of them, and of all
# names and values.
MAX_PROPERTIES = 5_000
MAX_LEVELS = 10
MAX_ENUM_VALUES = 1_000
MANY_VALUES = 250
MAX_VALUE_CHARACTERS = 15_000
MAX_NAME_CHARACTERS = 120_000
_NO_DEFAULT = object()
# Properties compared among alternatives; schemas that need more have no strict form.
_MAX_STEPS = 20_000


class _NotStrict(Exception):
    """The schema cannot be expressed in strict form."""


def strict_form(schema: JsonSchema) -> JsonSchema | None:
    """Return the schema with every property required and optional ones nullable; None if it has no strict form.

    Objects with arbitrary keys, tuples, values of any type, properties for which null and absence differ, and
    alternatives that differ only in optional properties have none; nor have schemas that are too large.
    """
    try:
        steps = Steps(_MAX_STEPS)
        strict = _strict(schema, schema, steps)
        definitions = {name: _strict(node, schema, steps) for name, node in schema.get("$defs", {}).items()}
    # The last two are raised by invalid references.
    except (_NotStrict, TooManySteps, RecursionError, TypeError, AttributeError):
        return None
    whole = strict | {"$defs": definitions} if definitions else strict
    return whole if _fits(whole) else None


def _fits(strict: JsonSchema) -> bool:
    """Return whether a strict schema is within the limits."""
    properties = values = characters = 0
    waiting: list[tuple[JsonSchema, int]] = [(strict, 0)]
    while waiting:
        node, level = waiting.pop()
        own = node.get("properties", {})
        enum = node.get("enum", [])
        level += "properties" in node
        length = sum(len(value) for value in enum if isinstance(value, str))
        if level > MAX_LEVELS or (len(enum) > MANY_VALUES and length > MAX_VALUE_CHARACTERS):
            return False
        properties += len(own)
        values += len(enum)
        definitions = node.get("$defs", {})
        characters += length + sum(map(len, own)) + sum(map(len, definitions))
        parts = [*own.values(), *definitions.values(), *node.get("anyOf", ())]
        waiting += [(part, level) for part in (*parts, *([node["items"]] if "items" in node else []))]
    return properties <= MAX_PROPERTIES and values <= MAX_ENUM_VALUES and characters <= MAX_NAME_CHARACTERS


def closed(schema: Any) -> Any:
    """Return the schema with `additionalProperties: false` where it is missing, as the strict form requires."""
    if isinstance(schema, list):
        return [closed(node) for node in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(node) for key, node in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        result.setdefault("additionalProperties", False)
    return result


def _strict(node: Any, root: JsonSchema, steps: Steps) -> JsonSchema:
    if not isinstance(node, dict):
        raise _NotStrict
    described = {"description": text} if (text := _description(node)) else {}
    if "$ref" in node:
        return {"$ref": node["$ref"]} if not described else {"anyOf": [{"$ref": node["$ref"]}], **described}
    options = node.get("anyOf") or node.get("oneOf")
    if options:
        if not are_distinguishable(node, root, steps):
            raise _NotStrict
        return {"anyOf": [_strict(option, root, steps) for option in options], **described}
    if "const" in node or "enum" in node:
        values = node.get("enum", [node.get("const")])
        kinds = sorted(kinds_of({"enum": values}, root) or ())
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values, **described}
    kind = node.get("type")
    if kind == "object":
        return _object(node, root, steps) | described
    if kind == "array":
        if "items" not in node or "prefixItems" in node:
            raise _NotStrict
        return {"type": "array", "items": _strict(node["items"], root, steps), **described}
    if (
        not isinstance(kind, str | list)
        or "allOf" in node
        or (isinstance(kind, list) and {"object", "array"} & {*kind})
    ):
        raise _NotStrict
    return {"type": kind, **described}


def _object(node: JsonSchema, root: JsonSchema, steps: Steps) -> JsonSchema:
    if node.get("additionalProperties") is not False or "patternProperties" in node:
        raise _NotStrict
    properties: JsonSchema = {}
    for name, schema in node.get("properties", {}).items():
        strict = _strict(schema, root, steps)
        properties[name] = strict if name in node.get("required", ()) else _nullable(strict, schema, root)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _nullable(strict: JsonSchema, schema: JsonSchema, root: JsonSchema) -> JsonSchema:
    kinds = kinds_of(schema, root)
    if kinds is None or "null" in kinds:
        if schema.get("default", _NO_DEFAULT) is not None:
            raise _NotStrict  # null and absence differ for this property, and in strict form it cannot be left out
        return strict
    rest = {key: value for key, value in strict.items() if key != "description"}
    described = {"description": strict["description"]} if "description" in strict else {}
    return {"anyOf": [*rest["anyOf"], {"type": "null"}] if "anyOf" in rest else [rest, {"type": "null"}], **described}


def _description(node: JsonSchema) -> str:
    constraints = [
        words.format(node[keyword])
        for keyword, words in _CONSTRAINT_TEXTS.items()
        if keyword in node and isinstance(node[keyword], str | int | float) and node[keyword] != ""
    ]
    text = str(node.get("description", ""))
    return f"{text} ({', '.join(constraints)})".strip() if constraints else text
