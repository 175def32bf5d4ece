"""Changes a tool's schema to what providers take: a plain root, and arrays with items."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from assistant.toolkit.schema.json_schema import JsonSchema, resolve

# Keywords whose values are schemas: one, a list of them, or one for each name.
_ONE = (
    "items", "additionalProperties", "additionalItems", "contains", "not", "if", "then", "else", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
# Alternatives within alternatives, and alternatives of one root, that are looked at.
_MAX_LEVELS = 5
_MAX_BRANCHES = 100
# Of the words that say which arguments belong together.
MAX_WORDS = 600


def plain_root(schema: JsonSchema) -> tuple[JsonSchema, str]:
    """Return the schema of an object without alternatives at its root, and what it no longer says, in words.

    The properties of all alternatives are there; those that every alternative requires are required. The tool itself
    still checks arguments by its own schema.
    """
    merged, words = _plain(schema, schema, _MAX_LEVELS)
    merged["type"] = "object"
    merged.setdefault("properties", {})
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    text = " ".join(words)
    return merged | definitions, text if len(text) <= MAX_WORDS else f"{text[:MAX_WORDS]}…"


def is_plain(schema: JsonSchema) -> bool:
    """Return whether a schema's root is one that every provider takes."""
    return (
        schema.get("type") == "object"
        and "properties" in schema
        and {"$ref", "anyOf", "oneOf", "allOf", "not", "enum", "const"}.isdisjoint(schema)
    )


def _plain(node: Any, root: JsonSchema, levels: int) -> tuple[JsonSchema, list[str]]:
    """Return a schema with the properties of its alternatives, and words for what is lost."""
    found = resolve(node, root)
    own = {key: value for key, value in node.items() if key != "$ref"} if isinstance(node, dict) else {}
    merged: JsonSchema = {key: value for key, value in found.items() if key not in ("$ref", "$defs", "definitions")}
    merged |= {key: value for key, value in own.items() if key not in ("$defs", "definitions")}
    parts = {key: merged.pop(key, None) for key in ("allOf", "anyOf", "oneOf", "not", "enum", "const")}
    words: list[str] = []
    for branch, more in _branches(parts["allOf"], root, levels):
        _add(merged, branch, branch.get("required", ()))
        words += more
    for key, beginning in (("anyOf", "Give at least one of these:"), ("oneOf", "Give exactly one of these:")):
        branches = _branches(parts[key], root, levels)
        if not branches:
            continue
        for branch, _more in branches:
            _add(merged, branch, ())
        shared = set.intersection(*(set(branch.get("required", ())) for branch, _more in branches))
        merged["required"] = names_of(merged.get("required")) + [
            name for name in sorted(shared) if name not in names_of(merged.get("required"))
        ]
        choices = [_choice(branch, shared) for branch, _more in branches]
        if any(choices):
            words.append(f"{beginning} {'; or '.join(choice or 'nothing more' for choice in choices)}.")
        words += [word for _branch, more in branches for word in more]
    for key in ("not", "enum", "const"):
        if parts[key] is not None:
            words.append(f"The arguments must {'not ' if key == 'not' else ''}fit {json.dumps(parts[key])[:200]}.")
    if not merged.get("required"):
        merged.pop("required", None)
    return merged, words


def _branches(options: Any, root: JsonSchema, levels: int) -> list[tuple[JsonSchema, list[str]]]:
    """Return the alternatives that an object can have, each once."""
    if not isinstance(options, list) or levels == 0:
        return []
    found: dict[int, Any] = {}
    for option in options[:_MAX_BRANCHES]:
        resolved = resolve(option, root)
        kind = resolved.get("type", "object")
        if kind == "object" or (isinstance(kind, list) and "object" in kind):
            found.setdefault(id(resolved) if resolved is not option else id(option), option)
    return [_plain(option, root, levels - 1) for option in found.values()]


def _add(merged: JsonSchema, branch: JsonSchema, required: Any) -> None:
    """Add an alternative's properties to the merged schema; a property of both has either schema."""
    properties = dict(merged.get("properties") or {})
    for name, schema in (branch.get("properties") or {}).items():
        properties[name] = schema if name not in properties else _either(properties[name], schema)
    merged["properties"] = properties
    known = names_of(merged.get("required"))
    merged["required"] = known + [name for name in names_of(required) if name not in known]


def _either(first: Any, second: Any) -> Any:
    if first == second:
        return first
    values = [*_values(first), *_values(second)]
    if values and _values(first) and _values(second):
        return {"enum": [value for index, value in enumerate(values) if value not in values[:index]]}
    options = first["anyOf"] if isinstance(first, dict) and set(first) == {"anyOf"} else [first]
    return first if second in options else {"anyOf": [*options, second]}


def _values(schema: Any) -> list[Any]:
    """Return the values of a property that has only certain ones."""
    if not isinstance(schema, dict):
        return []
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return values if isinstance(values, list) else []


def names_of(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list | tuple | set) else []


def _choice(branch: JsonSchema, shared: set[str]) -> str:
    """Return what distinguishes an alternative, in words: `kind="mail", to and text`."""
    properties = branch.get("properties") or {}
    fixed = {name: _values(schema)[0] for name, schema in properties.items() if len(_values(schema)) == 1}
    own = [name for name in names_of(branch.get("required")) if name not in shared or name in fixed]
    told = [f"{name}={json.dumps(fixed[name], ensure_ascii=False)}" if name in fixed else name for name in own]
    return " and ".join(told)


def with_items(schema: Any) -> Any:
    """Return the schema with `items` in every array, which OpenAI requires beside `prefixItems` too."""
    kind = schema.get("type")
    is_array = kind == "array" or (isinstance(kind, list) and "array" in kind)
    if is_array and "items" not in schema:
        schema = {**schema, "items": {}}
    return mapped(schema, with_items)


def schema_parts(schema: Any) -> Iterator[Any]:
    """Yield the schemas that stand directly in a schema."""
    for key in _ONE:
        if isinstance(schema.get(key), dict):
            yield schema[key]
    for key in _LISTS:
        if isinstance(schema.get(key), list):
            yield from (part for part in schema[key] if isinstance(part, dict))
    for key in _MAPS:
        if isinstance(schema.get(key), dict):
            yield from (part for part in schema[key].values() if isinstance(part, dict))


def mapped(schema: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of a schema whose parts are changed."""
    copy = dict(schema)
    for key in _ONE:
        if isinstance(copy.get(key), dict):
            copy[key] = change(copy[key])
    for key in _LISTS:
        if isinstance(copy.get(key), list):
            copy[key] = [change(part) if isinstance(part, dict) else part for part in copy[key]]
    for key in _MAPS:
        if isinstance(copy.get(key), dict):
            copy[key] = {name: change(part) if isinstance(part, dict) else part for name, part in copy[key].items()}
    return copy
