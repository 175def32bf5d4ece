"""What a tool's arguments are, as rows that people read, from its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

# Rows that are shown; what a schema has below the parameters is said in their kind.
MAX_PARAMETERS = 60
MAX_TEXT = 300


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument: its name, its kind in words, what it is for, and its default as JSON, "" for none."""

    name: str
    kind: str
    is_required: bool
    description: str
    default: str


def parameters_of(schema: Mapping[str, Any]) -> list[Parameter]:
    """Return the arguments of a schema, which may be an external server's and have any shape."""
    properties = schema.get("properties")
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    if not isinstance(properties, Mapping):
        return []
    return [
        Parameter(
            name=str(name)[:MAX_TEXT],
            kind=_kind(part, schema),
            is_required=name in names,
            description=str(part.get("description") or "")[:MAX_TEXT],
            default=_default(part),
        )
        for name, part in list(properties.items())[:MAX_PARAMETERS]
        if isinstance(part, Mapping)
    ]


def _default(part: Mapping[str, Any]) -> str:
    """Return the default as JSON; "" without one, or if it says that the value is missing."""
    value = part.get("default")
    return "" if value is None else json.dumps(value, ensure_ascii=False)[:MAX_TEXT]


def _kind(part: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the kind of a value in words, such as "list of numbers" or "one of open, paid"."""
    part = _resolved(part, schema)
    values = part.get("enum")
    if isinstance(values, list):
        return (_("one of %(values)s") % {"values": ", ".join(map(str, values[:20]))})[:MAX_TEXT]
    some = part.get("anyOf") or part.get("oneOf")
    if isinstance(some, list):
        kinds = [_kind(one, schema) for one in some[:5] if isinstance(one, Mapping) and one.get("type") != "null"]
        return _(" or ").join(dict.fromkeys(kinds))
    if part.get("type") == "array":
        items = part.get("items")
        return _("list of: %(kind)s") % {"kind": _kind_of_items(items, schema)}
    return _word(part.get("type"), str(part.get("format") or ""))


def _kind_of_items(items: object, schema: Mapping[str, Any]) -> str:
    if not isinstance(items, Mapping):
        return _("anything")
    kind = _resolved(items, schema)
    # One level: schemas may refer to themselves.
    return _("lists") if kind.get("type") == "array" else _kind({**kind, "anyOf": None, "oneOf": None}, schema)


def _resolved(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a reference to one of the schema's definitions leads to; one step."""
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return part
    definitions = schema.get("$defs")
    found = definitions.get(reference.rpartition("/")[2]) if isinstance(definitions, Mapping) else None
    return {**found, "$ref": None} if isinstance(found, Mapping) else {}


def _word(kind: object, form: str) -> str:
    words = {
        "string": _("text"),
        "integer": _("whole number"),
        "number": _("number"),
        "boolean": _("yes or no"),
        "object": _("several fields"),
    }
    kinds = [one for one in kind if one != "null"] if isinstance(kind, list) else [kind]
    word = _(" or ").join(words.get(str(one), _("anything")) for one in kinds[:5])
    return f"{word} ({form[:40]})" if form else word
