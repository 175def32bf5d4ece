"""Changes a tool's schema to what providers take: a plain root, arrays with items, other names of properties."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.schema.json_schema import JsonSchema, kinds_of, resolve

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
_MAX_NAME = 64


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
        merged["required"] = _names(merged.get("required")) + [
            name for name in sorted(shared) if name not in _names(merged.get("required"))
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
    known = _names(merged.get("required"))
    merged["required"] = known + [name for name in _names(required) if name not in known]


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


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list | tuple | set) else []


def _choice(branch: JsonSchema, shared: set[str]) -> str:
    """Return what distinguishes an alternative, in words: `kind="mail", to and text`."""
    properties = branch.get("properties") or {}
    fixed = {name: _values(schema)[0] for name, schema in properties.items() if len(_values(schema)) == 1}
    own = [name for name in _names(branch.get("required")) if name not in shared or name in fixed]
    told = [f"{name}={json.dumps(fixed[name], ensure_ascii=False)}" if name in fixed else name for name in own]
    return " and ".join(told)


def with_items(schema: Any) -> Any:
    """Return the schema with `items` in every array, which OpenAI requires beside `prefixItems` too."""
    kind = schema.get("type")
    is_array = kind == "array" or (isinstance(kind, list) and "array" in kind)
    if is_array and "items" not in schema:
        schema = {**schema, "items": {}}
    return mapped(schema, with_items)


def names_in(schema: Any) -> Iterator[str]:
    """Yield the names of all properties in a schema."""
    yield from schema.get("properties") or ()
    for part in schema_parts(schema):
        yield from names_in(part)


def other_names(schema: JsonSchema, allowed: re.Pattern[str]) -> dict[str, str]:
    """Return the names to send for those properties whose own are not allowed; no two properties share one."""
    known = set(names_in(schema))
    taken = set(known)
    others: dict[str, str] = {}
    for name in sorted(known):
        if allowed.fullmatch(name):
            continue
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
        cleaned = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name).strip("_.-") or "field"
        is_whole = len(cleaned) <= _MAX_NAME and cleaned not in taken
        others[name] = cleaned if is_whole else f"{cleaned[: _MAX_NAME - 9]}_{digest}"
        taken.add(others[name])
    return others


def renamed(schema: Any, names: Mapping[str, str]) -> Any:
    """Return the schema with other names of properties."""
    changed = mapped(schema, lambda part: renamed(part, names))
    if isinstance(changed.get("properties"), dict):
        changed["properties"] = {names.get(name, name): part for name, part in changed["properties"].items()}
    if isinstance(changed.get("required"), list):
        changed["required"] = [names.get(name, name) if isinstance(name, str) else name for name in changed["required"]]
    if isinstance(changed.get("dependentRequired"), dict):
        changed["dependentRequired"] = {
            names.get(name, name): [names.get(one, one) for one in _names(others)]
            for name, others in changed["dependentRequired"].items()
        }
    if isinstance(changed.get("$ref"), str):
        changed["$ref"] = _reference(changed["$ref"], names)
    return changed


def _reference(reference: str, names: Mapping[str, str]) -> str:
    """Return a reference within the schema as it is with other names."""
    steps = reference.split("/")
    for index in range(1, len(steps)):
        name = steps[index].replace("~1", "/").replace("~0", "~")
        if steps[index - 1] == "properties" and name in names:
            steps[index] = names[name]
    return "/".join(steps)


def value_renamed(value: Any, schema: JsonSchema, names: Mapping[str, str]) -> Any:
    """Return a value that follows a schema with other names of its properties.

    Args:
        schema: the value's own; keys that it names no properties for, such as those of a table of anything, stay. An
            object or array that is sent as JSON text, where nothing else is allowed, is renamed in its text.
    """
    return _value_renamed(value, [schema], schema, names)


def _value_renamed(value: Any, nodes: list[Any], root: JsonSchema, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and nodes and all(_is_container(node, root) for node in nodes):
        return _text_renamed(value, nodes, root, names)
    if not isinstance(value, dict | list):
        return value
    known = list(_alternatives(nodes, root))
    if isinstance(value, list):
        items = [part for node in known for part in (node.get("items"), *(node.get("prefixItems") or ()))]
        return [_value_renamed(one, items, root, names) for one in value]
    result = {}
    for name, one in value.items():
        places = [node["properties"][name] for node in known if name in (node.get("properties") or {})]
        rest = [node["additionalProperties"] for node in known if isinstance(node.get("additionalProperties"), dict)]
        result[names.get(name, name) if places else name] = _value_renamed(one, places or rest, root, names)
    return result


def _is_container(node: Any, root: JsonSchema) -> bool:
    """Return whether a schema allows objects and arrays only, besides null."""
    kinds = kinds_of(node, root)
    return kinds is not None and kinds <= {"object", "array", "null"}


def _text_renamed(text: str, nodes: list[Any], root: JsonSchema, names: Mapping[str, str]) -> str:
    try:
        value = load_json(text)
    except ValueError:
        return text
    is_container = isinstance(value, dict | list)
    return json.dumps(_value_renamed(value, nodes, root, names), ensure_ascii=False) if is_container else text


def _alternatives(nodes: list[Any], root: JsonSchema) -> Iterator[JsonSchema]:
    """Yield the schemas that a value may follow, with those behind references and alternatives, each once."""
    seen: set[int] = set()
    waiting = [node for node in nodes if isinstance(node, dict)]
    while waiting:
        node = resolve(waiting.pop(), root)
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        for key in ("anyOf", "oneOf", "allOf"):
            options = node.get(key)
            waiting += [one for one in options if isinstance(one, dict)] if isinstance(options, list) else []
        waiting += [node[key] for key in ("then", "else") if isinstance(node.get(key), dict)]


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
