"""Limits for untrusted schemas, which are checked before anything is compiled."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from assistant.toolkit import InvalidTool, Tool
from assistant.toolkit.schema.bounds import MAX_BYTES, MAX_CHECKS, MAX_REFERENCES, InvalidSchema, cost_of
from assistant.toolkit.schema.check import Checker
from assistant.toolkit.schema.pattern_states import states_of
from tests.toolkit.reference import at_most

# Times the processor time of the reference.
SOON = 10.0


def patterns(count: int, pattern: str) -> dict[str, Any]:
    return {"properties": {f"p{n}": {"type": "string", "pattern": f"{pattern}{n}"} for n in range(count)}}


def doubling(keyword: str, levels: int) -> dict[str, Any]:
    parts = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": {**parts, f"a{levels}": {"type": "string"}}}


def chain(length: int, step: str) -> dict[str, Any]:
    parts = {f"a{n}": {step: {"$ref": f"#/$defs/a{n + 1}"}} for n in range(length)}
    return {"$ref": "#/$defs/a0", "$defs": {**parts, f"a{length}": {}}}


def nested(levels: int) -> dict[str, Any]:
    return {"items": nested(levels - 1)} if levels else {}


HOSTILE = {
    "100 patterns with repeats": (patterns(100, r"\w{300}"), "more than 2000 states"),
    "repeats in repeats": (patterns(1, "((a{50}){50}){50}"), "more than 2000 states"),
    "an endless repeat": (patterns(1, "a{99999999999999999999}"), "more than 2000 states"),
    "a class of letters, repeated": (patterns(1, r"\p{L}{500}"), "more than 2000 states"),
    "many patterns": (patterns(65, "a"), "more than 64 patterns"),
    "a long pattern": (patterns(1, "x" * 1001), "more than 1000 characters"),
    "many references": (
        {"$defs": {"a": {}}, "allOf": [{"$ref": "#/$defs/a"}] * (MAX_REFERENCES + 1)},
        "more than 500 references",
    ),
    "155 KB of references": (chain(3000, "not"), "values or 64000 bytes"),
    "many bytes": ({"description": "x" * MAX_BYTES}, "bytes"),
    "many values": ({"enum": list(range(5001))}, "more than 5000 values"),
    "many levels": (nested(65), "more than 64 levels"),
    "a chain in the same value": (chain(40, "not"), "more than 32 levels"),
    "a long chain into the value": (chain(200, "items"), "more than 150 levels"),
    "alternatives that double": (doubling("anyOf", 40), "more than 2000 times"),
    "itself": ({"$ref": "#"}, "refers to itself"),
    "itself by its anchor": ({"$dynamicAnchor": "me", "anyOf": [{"$dynamicRef": "#me"}]}, "refers to itself"),
    "anchors by the hundred": (
        {
            "$defs": {f"d{n}": {"$dynamicAnchor": "x"} for n in range(300)},
            "properties": {f"p{n}": {"$dynamicRef": "#x"} for n in range(300)},
        },
        "more than 500 references",
    ),
    "what is not evaluated elsewhere": (
        {**doubling("allOf", 6), "unevaluatedProperties": False},
        "more than 2000 times",
    ),
    "a base within it": ({"properties": {"a": {"$id": "http://one.test/"}}}, "may have an $id"),
    "another dialect": ({"$schema": "http://one.test/schema"}, "its $schema"),
    "half a character": ({"const": "\ud800"}, "it is not JSON"),
    "no number": ({"minimum": float("nan")}, "it is not JSON"),
}


@pytest.mark.parametrize(("schema", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_schema_beyond_the_bounds_is_refused_quickly(schema: dict[str, Any], reason: str) -> None:
    with at_most(SOON), pytest.raises(InvalidSchema) as refused:
        cost_of(schema)
    assert reason in str(refused.value)


def test_a_hand_written_tool_beyond_the_bounds_stops_the_import() -> None:
    with pytest.raises(InvalidTool, match="more than 64 patterns"):
        Tool(name="t", description="T.", parameters={"type": "object", **patterns(65, "a")}, handler=print)


class Open(BaseModel):
    """Accepts unknown names, and has more alternatives than are checked."""

    model_config = ConfigDict(extra="allow")
    many: Literal[tuple(range(6_000))]  # type: ignore[valid-type]


def take(given: Open) -> str:
    """Take it."""
    return str(given)


def test_a_functions_types_that_keep_unknown_names_are_within_the_bounds_too() -> None:
    with pytest.raises(InvalidTool, match="more than 5000 values"):
        Tool.from_function(take)


LETTERS = {
    "a date": (r"^\d{4}-\d{2}-\d{2}$", 12),
    "a number": ("^[0-9a-f]{8}-[0-9a-f]{4}$", 15),
    "a group": ("(ab){3}c", 10),
    "braces in a class": ("[{]{2}", 2),
    "a class without an end": ("[" * 1000, 63),
    "most characters": (".{10}", 100),
}


@pytest.mark.parametrize(("pattern", "states"), LETTERS.values(), ids=LETTERS)
def test_the_size_of_a_pattern_includes_its_repeats(pattern: str, states: int) -> None:
    assert states_of(pattern) == states


TREE = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#"}}}}
EXPRESSION = {
    "$ref": "#/$defs/e",
    "$defs": {
        "e": {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/s"}]},
        "n": {"type": "object", "properties": {"value": {"type": "number"}}},
        "s": {"type": "object", "properties": {"left": {"$ref": "#/$defs/e"}, "right": {"$ref": "#/$defs/e"}}},
    },
}
LEGITIMATE = {
    "a tree": TREE,
    "an expression": EXPRESSION,
    "1,200 properties": {"properties": {f"p{n}": {"type": "string"} for n in range(1200)}},
    "600 time zones": {"properties": {"zone": {"enum": [f"Area/City_{n}" for n in range(600)]}}},
    "draft 7": {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}},
    "a property named $id": {"properties": {"$id": {"type": "string"}, "pattern": {"type": "string"}}},
    "an escaped reference": {"$defs": {"a/b c": {}}, "$ref": "#/$defs/a~1b%20c"},
}


@pytest.mark.parametrize("schema", LEGITIMATE.values(), ids=LEGITIMATE)
def test_ordinary_schemas_are_within_the_bounds(schema: dict[str, Any]) -> None:
    assert 0 < Checker(schema).cost.checks < MAX_CHECKS
