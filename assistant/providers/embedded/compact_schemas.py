"""Parameters in few words: nested objects as a small model reads them, in a tenth of what their JSON Schema takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from assistant.toolkit import Tool

Schema = Mapping[str, Any]
_MAX_DEPTH = 4
_SAMPLES: dict[Any, Any] = {"string": "…", "integer": 1, "number": 1, "boolean": True}


def compact(tools: Iterable[Tool]) -> list[Tool]:
    """Return tools whose nested parameters are objects of any form, with what belongs in them in their description.

    What two tools share is said once. A tool without nested parameters is returned as it is, and what the model calls
    is checked by the tool's own schema.
    """
    said: dict[str, str] = {}
    return [_with_properties(tool, dict(_once(tool, said))) for tool in tools]


def _once(tool: Tool, said: dict[str, str]) -> Iterator[tuple[str, Schema]]:
    whole = tool.parameters.get("properties", {})
    for name, schema in _short_properties(tool).items():
        text = schema.get("description", "")
        if schema is not whole[name] and said.setdefault(text, tool.name) != tool.name:
            yield name, {**schema, "description": f"As {name} of {said[text]}"}
        else:
            yield name, schema


def _with_properties(tool: Tool, properties: dict[str, Schema]) -> Tool:
    if properties == tool.parameters.get("properties", {}):
        return tool
    return replace(tool, parameters={**tool.parameters, "properties": properties})


@lru_cache(maxsize=1024)
def _short_properties(tool: Tool) -> dict[str, Schema]:
    definitions = tool.parameters.get("$defs", {})
    return {name: _short(schema, definitions) for name, schema in tool.parameters.get("properties", {}).items()}


def _short(schema: Schema, definitions: Schema) -> Schema:
    inner = _resolved(schema, definitions)
    is_list = inner.get("type") == "array"
    of = _resolved(inner.get("items") or {}, definitions) if is_list else inner
    if not of.get("properties"):
        return schema
    sample = _sample(of, definitions, _MAX_DEPTH)
    sentences = [
        str(schema.get("description") or inner.get("description") or ""),
        f"{'Each has' if of.get('required') else 'Any of'} {_words(of, definitions, _MAX_DEPTH)}",
        *_meanings(of, definitions),
        f"Such as {json.dumps([sample] if is_list else sample, ensure_ascii=False)}",
    ]
    told = ". ".join(sentence.rstrip(".") for sentence in sentences if sentence)
    return {"type": "array" if is_list else "object", "description": told}


def _resolved(schema: Schema, definitions: Schema) -> Schema:
    """Return what a reference, or a choice between a schema and null, leads to."""
    for _ in range(_MAX_DEPTH):
        options = [one for one in schema.get("anyOf") or () if one.get("type") != "null"]
        if "$ref" in schema:
            schema = definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
        elif options:
            schema = options[0]
        else:
            break
    return schema


def _words(schema: Schema, definitions: Schema, depth: int) -> str:
    """Return a type: properties of the same type are named together, so that it is said once."""
    schema = _resolved(schema, definitions)
    if schema.get("enum"):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_words(schema.get('items') or {}, definitions, depth)}"
    if not schema.get("properties") or not depth:
        return str(schema.get("type") or "any")
    required = schema.get("required", ())
    by_type: dict[str, list[str]] = {}
    for name, inner in schema["properties"].items():
        named = f"{name} (required)" if name in required else name
        by_type.setdefault(_words(inner, definitions, depth - 1), []).append(named)
    return "{" + "; ".join(f"{', '.join(names)}: {type_}" for type_, names in by_type.items()) + "}"


def _meanings(schema: Schema, definitions: Schema) -> list[str]:
    """Return what the properties mean, where that is more than their names say."""
    found = []
    for name, inner in schema["properties"].items():
        meaning = str(inner.get("description") or _resolved(inner, definitions).get("description") or "")
        first, _, rest = meaning.partition(". ")
        meaning = rest if _letters(first) == _letters(name) else meaning
        if meaning:
            found.append(f"{name}: {meaning}")
    return found


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _sample(schema: Schema, definitions: Schema, depth: int) -> Any:
    """Return a value of a type, with the required properties of an object, else its first."""
    schema = _resolved(schema, definitions)
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_sample(schema.get("items") or {}, definitions, depth)]
    properties = schema.get("properties")
    if not properties or not depth:
        return {} if schema.get("type") == "object" else _SAMPLES.get(schema.get("type"), "…")
    names = [name for name in properties if name in schema.get("required", ())] or [next(iter(properties))]
    return {name: _sample(properties[name], definitions, depth - 1) for name in names}
