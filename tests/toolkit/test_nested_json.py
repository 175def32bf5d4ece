"""Objects and arrays that a model sends as JSON text inside the JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from assistant.toolkit import InvalidArguments, Question, Tool, tool
from tests.toolkit.schema.test_exact_types import tool_of


class Line(BaseModel):
    article: str
    pieces: int = 1
    parts: list[Line] = []


@dataclass
class Price:
    amount: Decimal


LAMP = Line(article="lamp", pieces=2)
REMOTE = {
    "$defs": {"Line": {"type": "object", "properties": {"article": {"type": "string"}}, "required": ["article"]}},
    "type": "object",
    "properties": {"lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}}, "note": {"type": "string"}},
}


@pytest.mark.parametrize(
    ("kind", "text", "taken"),
    [
        (list[Line], '[{"article": "lamp", "pieces": 2}]', [LAMP]),
        (list[Line], ' \n[{"article": "lamp", "pieces": "2"}]', [LAMP]),
        (list[Line] | None, '[{"article": "lamp", "pieces": 2}]', [LAMP]),
        (Line, '{"article": "lamp", "pieces": 2}', LAMP),
        (Line | None, '{"article": "lamp", "pieces": 2}', LAMP),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (set[int], "[1, 2]", {1, 2}),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (list[int] | int, "[1]", [1]),
        (list[int] | int, "1", 1),
        (list[Line] | list[int], '[{"article": "lamp", "pieces": 2}]', [LAMP]),
        (list[Line] | list[int], ['{"article": "lamp", "pieces": "2"}'], [LAMP]),
        (list[Line] | list[int], ["1"], [1]),
        (list[Line] | list[str], ["[1]"], ["[1]"]),
        (dict[str, Line] | dict[str, int], {"a": '{"article": "lamp", "pieces": 2}'}, {"a": LAMP}),
        (Line | dict[str, list[int]], {"a": "[1]"}, {"a": [1]}),
    ],
)
def test_a_text_is_decoded_where_only_an_object_or_array_may_stand(kind: Any, text: Any, taken: Any) -> None:
    assert tool_of(kind).check({"value": text}) == {"value": taken}


def test_texts_are_decoded_at_any_depth() -> None:
    parts = json.dumps([{"article": "bulb"}])
    lines = json.dumps([{"article": "lamp", "parts": parts}])
    whole = Line(article="lamp", parts=[Line(article="bulb")])
    assert tool_of(list[Line]).check({"value": lines}) == {"value": [whole]}
    assert tool_of(dict[str, list[Line]]).check({"value": {"a": lines}}) == {"value": {"a": [whole]}}
    assert tool_of(tuple[str, list[Line]]).check({"value": ["a", lines]}) == {"value": ("a", [whole])}


@pytest.mark.parametrize("kind", [str, str | list[int], list[int] | str, Any, object, str | None])
def test_a_text_stays_one_where_a_text_may_stand(kind: Any) -> None:
    assert tool_of(kind).check({"value": "[1]"}) == {"value": "[1]"}


@pytest.mark.parametrize(
    "text",
    [
        "[1", "[1] and more", '["a"]', '{"a": 1}', "null", '"[1]"', "[NaN]", '[{"a": 1, "a": 2}]', "[" * 70 + "]" * 70,
        "[" * 100_000, "lamp",
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        tool_of(list[int]).check({"value": text})
    assert all(path.startswith("value") for path in refused.value.fields)


def test_decoded_values_count_for_the_depth_of_the_arguments() -> None:
    deep: Any = {"article": "a"}
    for _ in range(40):
        deep = {"article": "a", "parts": [deep]}
    with pytest.raises(InvalidArguments):
        tool_of(Line).check({"value": {"article": "a", "parts": json.dumps([deep])}})


def test_a_decoded_decimal_keeps_all_its_digits() -> None:
    number = "12345678901234567890.123456789"
    taken = tool_of(list[Price]).check({"value": f'[{{"amount": {number}}}]'})
    assert taken == {"value": [Price(Decimal(number))]}


def test_a_hand_written_schema_with_references_is_decoded_by_it() -> None:
    take = Tool(name="take", description="Take lines.", parameters=REMOTE, handler=lambda arguments: None)
    taken = take.check({"lines": '[{"article": "lamp"}]', "note": "[1]"})
    assert taken == {"lines": [{"article": "lamp"}], "note": "[1]"}
    with pytest.raises(InvalidArguments):
        take.check({"lines": '[{"pieces": 1}]'})


LIST_OF_NUMBERS = {"type": "array", "items": {"type": "integer"}}
NUMBERED = {"properties": {"number": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "sent", "taken"),
    [
        (
            {"type": "object", "properties": {"a": {}}, "additionalProperties": LIST_OF_NUMBERS},
            {"b": "[1]"},
            {"b": [1]},
        ),
        (
            {"type": "object", "properties": {"a": {}}, "patternProperties": {"^b": LIST_OF_NUMBERS}},
            {"b1": "[1]"},
            {"b1": [1]},
        ),
        ({"type": "object", "patternProperties": {"^[b]": LIST_OF_NUMBERS}}, {"b1": "[1]"}, {"b1": [1]}),
        (
            {"type": "object", "patternProperties": {"^b": LIST_OF_NUMBERS, "^c": {"type": "string"}}},
            {"c1": "[1]"},
            {"c1": "[1]"},
        ),
        ({"type": "object", "patternProperties": {".": LIST_OF_NUMBERS, "c": {"type": "string"}}}, {"c1": "[1]"}, None),
        ({"enum": [{"a": 1}, {"a": 2}]}, '{"a": 2}', {"a": 2}),
        ({"enum": [[1], [2]]}, "[2]", [2]),
        ({"const": {"a": 1}}, '{"a": 1}', {"a": 1}),
        ({"enum": [{"a": 1}, "{}"]}, '{"a": 1}', None),
        ({"enum": [1, 2]}, "2", 2),
        (NUMBERED, '{"number": "1"}', {"number": 1}),
        (NUMBERED, "one", "one"),
        (NUMBERED, "[1]", "[1]"),
        ({"items": NUMBERED}, '[{"number": 1}]', [{"number": 1}]),
        ({"anyOf": [NUMBERED, {"type": "null"}]}, '{"number": 1}', {"number": 1}),
        ({"allOf": [{"type": "object", **NUMBERED}]}, '{"number": "1"}', {"number": 1}),
        ({"allOf": [{"title": "N"}, {"type": "object", **NUMBERED}]}, '{"number": 1}', {"number": 1}),
    ],
)
def test_schemas_of_other_servers_are_read_too(schema: dict[str, Any], sent: Any, taken: Any) -> None:
    parameters = {"type": "object", "properties": {"value": schema}}
    take = Tool(name="take", description="Take.", parameters=parameters, handler=lambda arguments: None)
    if taken is not None:
        assert take.check({"value": sent}) == {"value": taken}
        return
    with pytest.raises(InvalidArguments):
        take.check({"value": sent})


def test_an_answer_to_a_question_is_decoded_too() -> None:
    schema = {"type": "object", "properties": {"sizes": {"type": "array", "items": {"enum": ["S", "M"]}}}}
    assert Question("Which?", schema).check('{"sizes": "[\\"S\\"]"}') == {"sizes": ["S"]}


def test_a_text_in_one_objects_input_is_decoded() -> None:
    @tool(input_type=Line)
    def order(line: Line) -> None:
        """Order."""

    assert order.check({"article": "lamp", "parts": '[{"article": "bulb"}]'})["line"].parts == [Line(article="bulb")]
