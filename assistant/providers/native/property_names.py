"""Other names for those properties of a tool's schema whose own a provider does not take."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from assistant.providers.tool_adaptation.schemas import mapped, names_of, schema_parts
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.schema.json_schema import JsonSchema, kinds_of, resolve

_MAX_NAME = 64


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
            names.get(name, name): [names.get(one, one) for one in names_of(others)]
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
