"""Validation against untrusted schemas: no loading, bounded time, and the problems for the model."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from assistant.toolkit.schema.bounds import InvalidSchema
from assistant.toolkit.schema.check import (
    MAX_VALUES,
    Checker,
    TooCostly,
    _compile,
    checker_of,
    fits_on_loop,
    schema_error,
)
from assistant.toolkit.schema.error_sentences import UNDESCRIBED
from tests.toolkit.reference import at_most

SOON = 10.0


class _Counting(BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"type": "string"}')

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    _Counting.asked = 0
    server = HTTPServer(("127.0.0.1", 0), _Counting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def outside(address: str, file: Path) -> list[dict[str, Any]]:
    return [
        {"$ref": f"{address}/schema.json"},
        {"$ref": file.as_uri()},
        {"$ref": "schema.json"},
        {"$id": f"{address}/", "$ref": "schema.json"},
        {"$id": f"{file.parent.as_uri()}/", "properties": {"a": {"$ref": file.name}}},
        {"$dynamicRef": f"{address}/schema.json"},
        {"$schema": f"{address}/schema.json"},
        {"$schema": file.as_uri()},
    ]


def test_nothing_outside_a_schema_is_ever_loaded(address: str, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "string"}')
    for schema in outside(address, file):
        assert schema_error(schema), schema
        # The engine alone, without the bounds.
        with pytest.raises(ValueError, match=r"retriev|meta-schema|No base URI"):
            _compile(schema)
    assert _Counting.asked == 0


def test_a_pattern_that_the_engine_does_not_support_is_ignored() -> None:
    checker = Checker(
        {
            "properties": {"mail": {"type": "string", "pattern": "^(?!x)a", "maxLength": 3}},
            "patternProperties": {"^(?=b)": {"type": "integer"}},
            "additionalProperties": False,
        }
    )
    assert checker.fits({"mail": "xa", "other": 1})
    assert checker.problems({"mail": "long"}) == [("mail", "must be at most 3 characters")]
    assert not Checker({"const": {"pattern": "(?=a)"}}).fits({})


ALL = {
    "type": "object",
    "properties": {
        "kind": {"type": ["integer", "null"]},
        "one": {"enum": ["x", 1]},
        "fixed": {"const": {"a": 1}},
        "text": {"minLength": 3, "pattern": "^a"},
        "number": {"minimum": 5, "multipleOf": 2},
        "either": {"anyOf": [{"type": "string"}, {"required": ["q", "r"]}]},
        "never": False,
        "list": {"minItems": 5, "items": {"type": "integer"}},
        "several": {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
        "map": {"type": "object", "additionalProperties": False},
    },
    "required": ["needed"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"kind": "x"}, ("kind", "must be of type integer or null")),
        ({"one": True}, ("one", "must be one of 'x', 1")),
        ({"fixed": 2}, ("fixed", "must be {'a': 1}")),
        ({"text": "ab"}, ("text", "must be at least 3 characters")),
        ({"text": "bcd"}, ("text", "must match '^a'")),
        ({"number": 3}, ("number", "must be at least 5")),
        ({"number": 7}, ("number", "must be a multiple of 2")),
        ({"either": {}}, ("either", "must be of type string")),
        ({"never": 1}, ("never", "must be left out")),
        ({"list": [1]}, ("list", "must be at least 5 items")),
        ({"list": [1, 2, "x", 4, 5]}, ("list.2", "must be of type integer")),
        ({"several": 3}, ("several", "fits several alternatives, and must fit one")),
        ({"map": {"a": 1}}, ("map.a", "unknown argument")),
        ({"unknown": 1}, ("unknown", "unknown argument")),
        ({}, ("needed", "missing")),
    ],
)
def test_each_problem_has_a_path_and_a_sentence(given: dict[str, Any], problem: tuple[str, str]) -> None:
    assert problem in checker_of(ALL).problems(given)


def test_a_value_that_fits_has_no_problems() -> None:
    assert checker_of({"required": ["a"]}).problems({"a": 1}) == []


def row(number: int) -> dict[str, Any]:
    return {"name": "x" * 20, "number": number, "tags": ["a", "b"]}


ROWS = {
    "items": {
        "properties": {"name": {"type": "string"}, "number": {"type": "integer"}, "tags": {"items": {"type": "string"}}}
    }
}
TEXT = "".join(random.Random(1).choices("éab", k=200_000))
BRANCHES = {"anyOf": [{"properties": {"l": {"$ref": "#"}, "r": {"const": n}}} for n in (2, 3)], "type": ["object"]}


def branching(levels: int) -> Any:
    return {"l": branching(levels - 1), "r": 1} if levels else None


def list_of(levels: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = [made]
    return made


COSTLY: dict[str, tuple[dict[str, Any], Any]] = {
    "a matcher with many states": ({"pattern": "(.*é.{180}é)!"}, TEXT),
    "rows by the thousand": (ROWS, [row(n) for n in range(20_000)]),
    "alternatives for each of many": ({"items": {"anyOf": [{"const": n} for n in range(900)]}}, [-1] * 5_000),
    "many alternatives to describe": ({"items": {"anyOf": [{"const": n} for n in range(900)]}}, [-1] * 250),
    "an enumeration for each of many": ({"items": {"enum": [{"a": n} for n in range(1_500)]}}, [{"a": -1}] * 9_000),
    "different items": ({"uniqueItems": True}, list(range(39_000))),
    "branches on every level": (BRANCHES, branching(60)),
    "deeper than the stack": ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, list_of(5000)),
    "many names": ({"additionalProperties": False}, {f"name{n}": 1 for n in range(39_000)}),
    "half a character": ({"type": "string"}, "\ud800"),
}


@pytest.mark.parametrize(("schema", "value"), COSTLY.values(), ids=COSTLY)
def test_no_check_on_the_loop_takes_long(schema: dict[str, Any], value: Any) -> None:
    checker = Checker(schema)
    with at_most(SOON), suppress(TooCostly):
        checker.problems(value)


def test_a_check_that_is_too_costly_is_refused() -> None:
    schema, value = COSTLY["a matcher with many states"]
    with pytest.raises(TooCostly):
        Checker(schema).fits(value)
    assert not fits_on_loop(value, schema)


def test_a_value_is_bounded_even_where_the_schema_asks_for_little() -> None:
    assert fits_on_loop([0] * (MAX_VALUES - 1), {"type": "array"})
    assert not fits_on_loop([0] * MAX_VALUES, {"type": "array"})


def test_a_problem_among_many_alternatives_is_not_searched_for() -> None:
    assert Checker(BRANCHES).problems(branching(40)) == [("arguments", UNDESCRIBED)]


def _schema(choose: random.Random, names: int, levels: int) -> dict[str, Any]:
    """Schemas of arbitrary keywords and references."""

    def below() -> Any:
        return _schema(choose, names, levels - 1) if levels else True

    made: dict[str, Any] = {}
    for _ in range(choose.randint(1, 3)):
        made |= choose.choice(
            [
                lambda: {"$ref": f"#/$defs/d{choose.randrange(names)}"},
                lambda: {"type": choose.choice(["string", "object", "array", ["object", "array", "string", "null"]])},
                lambda: {choose.choice(["allOf", "anyOf", "oneOf"]): [below() for _ in range(choose.randint(1, 4))]},
                lambda: {"not": below()},
                lambda: {"if": below(), "then": below(), "else": below()},
                lambda: {"properties": {name: below() for name in "abc"}},
                lambda: {choose.choice(["items", "contains", "additionalProperties", "propertyNames"]): below()},
                lambda: {choose.choice(["unevaluatedProperties", "unevaluatedItems"]): below()},
                lambda: {"enum": list(range(choose.randint(1, 50)))},
                lambda: {"pattern": rf"(.*[^a]\w{{{choose.randint(1, 200)}}}b?)+$", "uniqueItems": True},
            ]
        )()
    return made


def _value(choose: random.Random, levels: int) -> Any:
    match choose.randint(0, 2) if levels else 2:
        case 0:
            return {name: _value(choose, levels - 1) for name in choose.sample("abcd", choose.randint(1, 3))}
        case 1:
            return [_value(choose, levels - 1) for _ in range(choose.randint(1, 6))]
    return choose.choice(["a" * choose.randint(1, 500), 1, None])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_no_schema_and_value_take_long(seed: int) -> None:
    choose = random.Random(seed)
    names = choose.randint(1, 20)
    schema = {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{n}": _schema(choose, names, choose.randint(0, 2)) for n in range(names)},
    }
    values = [_value(choose, choose.randint(1, 6)) for _ in range(5)] + [list_of(90)]
    checker = None
    with at_most(SOON), suppress(InvalidSchema):
        checker = Checker(json.loads(json.dumps(schema)))
    for value in values if checker else ():
        with at_most(SOON), suppress(TooCostly):
            checker.problems(value)
