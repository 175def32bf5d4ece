"""The strict form of a schema, which some providers guarantee to follow to the letter: everything is required."""

from __future__ import annotations

from typing import Any

from assistant.toolkit.schema.alternatives import are_kept_apart
from assistant.toolkit.schema.json_schema import JsonSchema, Steps, TooManySteps, kinds_of

# Keywords that the strict form keeps; constraints move into the description, and are checked all the same.
_TOLD = {
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


_NOTHING = object()
# Properties of alternatives that are compared; a schema with more has no strict form.
_MOST_STEPS = 20_000


class _NotStrict(Exception):
    """The schema says something that the strict form cannot."""


def strict_form(schema: JsonSchema) -> JsonSchema | None:
    """A schema with every property required, optional ones nullable; None if it cannot be put so.

    Objects with free keys, tuples, values of any type, what can be null or left out with different meanings, and
    alternatives that only differ in what may be left out cannot.
    """
    try:
        steps = Steps(_MOST_STEPS)
        made = _strict(schema, schema, steps)
        definitions = {name: _strict(node, schema, steps) for name, node in schema.get("$defs", {}).items()}
    # The latter two where a reference leads astray.
    except (_NotStrict, TooManySteps, RecursionError, TypeError, AttributeError):
        return None
    return made | {"$defs": definitions} if definitions else made


def closed(schema: Any) -> Any:
    """The same schema with objects that say nothing of other properties closed to them, as the strict form wants it."""
    if isinstance(schema, list):
        return [closed(node) for node in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(node) for key, node in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        made.setdefault("additionalProperties", False)
    return made


def _strict(node: Any, root: JsonSchema, steps: Steps) -> JsonSchema:
    if not isinstance(node, dict):
        raise _NotStrict
    described = {"description": text} if (text := _description(node)) else {}
    if "$ref" in node:
        return {"$ref": node["$ref"]} if not described else {"anyOf": [{"$ref": node["$ref"]}], **described}
    options = node.get("anyOf") or node.get("oneOf")
    if options:
        if not are_kept_apart(node, root, steps):
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
    for name, wanted in node.get("properties", {}).items():
        made = _strict(wanted, root, steps)
        properties[name] = made if name in node.get("required", ()) else _nullable(made, wanted, root)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _nullable(made: JsonSchema, wanted: JsonSchema, root: JsonSchema) -> JsonSchema:
    kinds = kinds_of(wanted, root)
    if kinds is None or "null" in kinds:
        if wanted.get("default", _NOTHING) is not None:
            raise _NotStrict  # null and nothing are two things here, of which a model could say one only
        return made
    rest = {key: value for key, value in made.items() if key != "description"}
    described = {"description": made["description"]} if "description" in made else {}
    return {"anyOf": [*rest["anyOf"], {"type": "null"}] if "anyOf" in rest else [rest, {"type": "null"}], **described}


def _description(node: JsonSchema) -> str:
    told = [
        words.format(node[keyword])
        for keyword, words in _TOLD.items()
        if keyword in node and isinstance(node[keyword], str | int | float) and node[keyword] != ""
    ]
    text = str(node.get("description", ""))
    return f"{text} ({', '.join(told)})".strip() if told else text
