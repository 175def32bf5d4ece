"""Operations of an OpenAPI document as parameters of tools: one flat object without references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Schema = dict[str, Any]
Place = Literal["path", "query", "body"]
METHODS = ("get", "post", "put", "patch", "delete")
MAX_DEPTH = 6
MAX_TEXT = 5_000
_KEPT = (
    "type", "enum", "description", "format", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems",
    "maxItems",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        name: its `operationId`.
        places: where each parameter goes.
        takes_json: whether its body, if it has one, is an object of JSON.
    """

    name: str
    method: str
    path: str
    summary: str
    parameters: Schema
    places: Mapping[str, Place]
    takes_json: bool = True

    @property
    def is_read(self) -> bool:
        return self.method == "get"


def operations_of(document: Mapping[str, Any]) -> Iterator[Operation]:
    """Yield the operations of an OpenAPI document of version 3."""
    for path, item in document.get("paths", {}).items():
        for method in METHODS:
            if method in item:
                yield _operation(document, path, method, item)


def _operation(document: Mapping[str, Any], path: str, method: str, item: Mapping[str, Any]) -> Operation:
    stored = item[method]
    properties: Schema = {}
    required: list[str] = []
    places: dict[str, Place] = {}
    for given in (*item.get("parameters", ()), *stored.get("parameters", ())):
        one = _followed(document, given)
        if one.get("in") not in ("path", "query"):
            continue
        name = one["name"]
        properties[name] = _plain(document, one.get("schema", {}), 0)
        if text := one.get("description"):
            properties[name]["description"] = text
        places[name] = one["in"]
        if one.get("required"):
            required.append(name)
    body = _body(document, stored)
    for name, one in body.get("properties", {}).items():
        if name not in properties and not _followed(document, one).get("readOnly"):
            properties[name] = _with_null(document, one)
            places[name] = "body"
            if name in body.get("required", ()) and method != "patch":
                required.append(name)
    parameters: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        parameters["required"] = required
    summary = " ".join(str(stored.get("description") or stored.get("summary") or "").split())
    return Operation(
        str(stored.get("operationId", "")), method, path, summary, parameters, places, _takes_json(document, stored)
    )


def _takes_json(document: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    content = _followed(document, stored.get("requestBody", {})).get("content", {})
    if not content:
        return True
    return "properties" in _merged(document, content.get("application/json", {}).get("schema", {}))


def _body(document: Mapping[str, Any], stored: Mapping[str, Any]) -> Mapping[str, Any]:
    content = _followed(document, stored.get("requestBody", {})).get("content", {})
    for kind in ("application/json", "application/x-www-form-urlencoded", "multipart/form-data"):
        if kind in content:
            return _merged(document, content[kind].get("schema", {}))
    return {}


def _followed(document: Mapping[str, Any], stored: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(MAX_DEPTH):
        reference = stored.get("$ref")
        if not isinstance(reference, str):
            break
        at: Any = document
        for part in reference.removeprefix("#/").split("/"):
            at = at.get(part, {}) if isinstance(at, Mapping) else {}
        stored = at
    return stored


def _merged(document: Mapping[str, Any], stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with the first, or all, of those that it is made of in its place."""
    schema = _followed(document, stored)
    if parts := schema.get("allOf"):
        merged: Schema = {}
        for part in parts:
            found = _merged(document, part)
            merged |= {name: value for name, value in found.items() if name not in ("properties", "required")}
            merged["properties"] = {**merged.get("properties", {}), **found.get("properties", {})}
            merged["required"] = [*merged.get("required", ()), *found.get("required", ())]
        own = {name: schema[name] for name in ("description", "readOnly") if name in schema}
        return {name: value for name, value in merged.items() if value} | own
    if options := _options(document, schema):
        return {**_merged(document, options[0]), **{key: schema[key] for key in ("description",) if key in schema}}
    return schema


def _options(document: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the alternatives that a schema is made of, but for those that say no value."""
    kinds = [kind for kind in _kinds(schema) if kind != "null"]
    if len(kinds) > 1:
        return [{**schema, "type": kind} for kind in kinds]
    followed = [_followed(document, one) for name in ("oneOf", "anyOf") for one in schema.get(name, ())]
    return [one for one in followed if one.get("enum") not in ([""], [None]) and one.get("type") != "null"]


def _with_null(document: Mapping[str, Any], stored: Mapping[str, Any]) -> Schema:
    """Return the schema of a body's field; null clears the field if the document says that it may be null."""
    schema = _followed(document, stored)
    plain = _plain(document, stored, 0)
    alternatives = [_followed(document, one) for name in ("oneOf", "anyOf") for one in schema.get(name, ())]
    may_be_null = schema.get("nullable") is True or any(
        "null" in _kinds(one) or one.get("enum") == [None] for one in (schema, *alternatives)
    )
    if not may_be_null:
        return plain
    described = {"description": plain.pop("description")} if "description" in plain else {}
    return {"anyOf": [*plain.get("anyOf", [plain]), {"type": "null"}], **described}


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _plain(document: Mapping[str, Any], stored: Mapping[str, Any], depth: int) -> Schema:
    schema = _followed(document, stored)
    options = [_plain(document, one, depth + 1) for one in _options(document, schema)] if depth < MAX_DEPTH else []
    if len({one.get("type") for one in options}) > 1:
        return {"anyOf": options, **{key: schema[key] for key in ("description",) if key in schema}}
    schema = _merged(document, stored)
    plain = {name: schema[name] for name in _KEPT if name in schema}
    if isinstance(plain.get("type"), list):
        plain["type"] = next((one for one in plain["type"] if one != "null"), "string")
    if depth >= MAX_DEPTH:
        return plain
    if "properties" in schema:
        plain["type"] = "object"
        plain["properties"] = {
            name: _plain(document, one, depth + 1)
            for name, one in schema["properties"].items()
            if not _followed(document, one).get("readOnly")
        }
        if needed := [name for name in schema.get("required", ()) if name in plain["properties"]]:
            plain["required"] = needed
    if "items" in schema:
        plain["items"] = _plain(document, schema["items"], depth + 1)
    if plain.get("type") == "string" and "enum" not in plain:
        plain.setdefault("maxLength", MAX_TEXT)
    return plain
