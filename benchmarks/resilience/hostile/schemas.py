"""JSON Schemas that are expensive to compile, to resolve, or to check values against."""

from __future__ import annotations

import random
from typing import Any

Schema = dict[str, Any]
# How many schemas of each kind; they differ in their numbers.
OF_EACH = 4


def hostile_schemas(seed: int) -> dict[str, Schema]:
    """Return one schema of each kind, by its name, generated from `seed`. All of them must be refused."""
    chance = random.Random(seed)
    times, many = chance.randint(200, 400), chance.randint(2_500, 3_500)
    return {
        "patterns": _object({f"p{n}": {"pattern": rf"\w{{{times}}}{n}"} for n in range(100)}),
        "patterns of letters": _object({f"p{n}": {"pattern": rf"\p{{L}}{{{times // 5}}}{n}"} for n in range(40)}),
        "repeats in repeats": _object({"p": {"pattern": f"((a{{{times // 5}}}){{50}}){{50}}"}}),
        "a chain of references": _chain(many, "not"),
        "a chain into the value": _chain(many, "items"),
        "references that double": _doubling(chance.choice(["allOf", "anyOf", "oneOf"]), times // 8),
        "what is not evaluated": {**_doubling("allOf", 12), "unevaluatedProperties": False},
        "anchors": _object({f"p{n}": {"$dynamicRef": "#x"} for n in range(times)})
        | {"$defs": {f"d{n}": {"$dynamicAnchor": "x"} for n in range(times)}},
        "an enumeration": _object({"p": {"enum": [{"a": n} for n in range(many)]}}),
        "nesting": _nested(chance.randint(70, 200)),
        "an address": _object({"p": {"$ref": "http://127.0.0.1:9/schema.json"}}),
        "a file": _object({"p": {"$ref": "file:///etc/hostname"}}),
    }


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _chain(length: int, step: str) -> Schema:
    parts = {f"a{n}": {step: {"$ref": f"#/$defs/a{n + 1}"}} for n in range(length)}
    return _object({"p": {"$ref": "#/$defs/a0"}}) | {"$defs": {**parts, f"a{length}": {}}}


def _doubling(keyword: str, levels: int) -> Schema:
    parts = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return _object({"p": {"$ref": "#/$defs/a0"}}) | {"$defs": {**parts, f"a{levels}": {"type": "string"}}}


def _nested(levels: int) -> Schema:
    schema: Schema = {}
    for _ in range(levels):
        schema = {"items": schema}
    return _object({"p": schema})
