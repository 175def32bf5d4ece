"""A model's arguments: strict validation, correction of unambiguous errors, and the messages for all others."""

from __future__ import annotations

import datetime as dt
import enum
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from assistant.toolkit import InvalidArguments, InvalidTool, Param, Tool, tool
from assistant.toolkit.calls.arguments import MAX_CHARACTERS, MAX_DEPTH, parse_arguments


class Step(BaseModel):
    """A step and its sub-steps."""

    name: str
    weight: int = 1
    parts: list[Step] = []


@dataclass
class OpeningState:
    street: str
    number: int | None = None


class Free(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: str


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: int = 0


class Level(enum.IntEnum):
    LOW = 1


class Pair(TypedDict):
    left: int


@tool
def take(
    n: int = 0,
    x: float = 0,
    yes: bool = False,
    text: str = "",
    when: dt.datetime | None = None,
    day: dt.date | None = None,
    money: Decimal = Decimal(0),
    step: Step | None = None,
    place: OpeningState | None = None,
    pair: Pair | None = None,
    free: Free | None = None,
    pet: Cat | Dog | None = None,
    level: Level = Level.LOW,
    unique: UUID | None = None,
    either: int | list[int] = 0,
    anything: Any = None,
) -> str:
    """Take anything."""
    return "taken"


def fields(arguments: Any, made: Tool = take) -> dict[str, str]:
    with pytest.raises(InvalidArguments) as caught:
        made.check(arguments)
    return caught.value.fields


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ({"n": "42"}, "n", 42),
        ({"n": "-7"}, "n", -7),
        ({"n": 42.0}, "n", 42),
        ({"n": "4e1"}, "n", 40),
        ({"x": "1.5"}, "x", 1.5),
        ({"x": 3}, "x", 3.0),
        ({"yes": "true"}, "yes", True),
        ({"text": "42"}, "text", "42"),
        ({"money": "1.10"}, "money", Decimal("1.10")),
        ({"day": "2026-01-02"}, "day", dt.date(2026, 1, 2)),
        ({"when": "2026-01-02T03:04:05Z"}, "when", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        ({"step": {"name": "a", "parts": [{"name": "b", "weight": "2"}]}}, "step", None),
        ({"pet": {"kind": "dog", "tricks": "3"}}, "pet", Dog(kind="dog", tricks=3)),
        ({"either": ["1"]}, "either", [1]),
        ({"free": {"kind": "a", "more": 1}}, "free", Free(kind="a", more=1)),  # type: ignore[call-arg]
        ({"n": 10**30}, "n", 10**30),
    ],
)
def test_unambiguous_type_errors_are_corrected(arguments: Any, name: str, value: Any) -> None:
    taken = take.check(arguments)
    assert taken[name] == value or value is None
    assert take.check(json.dumps(arguments)) == taken


class Price(BaseModel):
    amount: Decimal | None = None
    rate: float = 0


class Weight(BaseModel):
    kilos: Annotated[Decimal, Param(ge=0, max_digits=20)]
    parts: list[Weight] = []


def pay(
    x: Decimal = Decimal(0),
    by_name: dict[str, Decimal] | None = None,
    both: tuple[float, Decimal] | None = None,
    thing: Price | Weight | None = None,
    other: float | str = 0,
) -> None:
    """Pay."""


@pytest.mark.parametrize(
    "number", ["12345678901234567.89", "0.1234567890123456789", "-98765432109876543.21e-5", "1.10"]
)
def test_a_decimal_keeps_all_its_digits_at_any_depth(number: str) -> None:
    exact, near = Decimal(number), float(number)
    told = f"""{{"x": {number}, "by_name": {{"a": {number}}}, "both": [{number}, {number}],
        "thing": {{"amount": {number}, "rate": {number}}}, "other": {number}}}"""
    taken = Tool.from_function(pay).check(told)
    assert taken == {
        "x": exact,
        "by_name": {"a": exact},
        "both": (near, exact),
        "thing": Price(amount=exact, rate=near),
        "other": near,
    }
    assert type(taken["other"]) is float


def test_a_decimals_constraints_are_checked_with_all_its_digits() -> None:
    paying = Tool.from_function(pay)
    weight = '{"thing": {"kilos": 12345678901234567.89, "parts": [{"kilos": 0.123456789012345678901}]}}'
    assert "thing.parts.0.kilos" in fields(weight, paying)
    assert set(fields('{"x": "much", "other": 12345678901234567.89}', paying)) == {"x"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": True},
        {"n": 1.5},
        {"n": "1_000"},
        {"n": "0042"},
        {"n": "٤٢"},
        {"n": " 42"},
        {"n": ""},
        {"x": True},
        {"x": "nan"},
        {"x": "Infinity"},
        {"x": "1e999"},
        {"yes": 1},
        {"yes": "yes"},
        {"text": 42},
        {"when": 5},
        {"day": 20260102},
        {"money": True},
        {"money": "NaN"},
        {"unique": 1},
        {"level": "LOW"},
        {"either": {"0": 1}},
        {"place": "Main Street"},
    ],
)
def test_ambiguous_values_are_not_corrected(arguments: dict[str, Any]) -> None:
    assert set(fields(arguments)) == set(arguments)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"tenant": 1}, "tenant"),
        ({"step": {"name": "a", "nmae": "b"}}, "step.nmae"),
        ({"step": {"name": "a", "parts": [{"name": "b", "z": 1}]}}, "step.parts.0.z"),
        ({"place": {"street": "a", "z": 1}}, "place.z"),
        ({"pair": {"left": 1, "right": 2}}, "pair.right"),
    ],
)
def test_an_unknown_argument_is_named_at_any_depth(arguments: Any, path: str) -> None:
    assert fields(arguments) == {path: "unknown argument"}


def test_each_wrong_field_is_named_by_its_own_path() -> None:
    wrong = {"n": "x", "step": {"weight": "heavy", "parts": [{"name": 1}]}, "either": ["a"]}
    assert set(fields(wrong)) >= {"n", "step.name", "step.weight", "step.parts.0.name", "either.0"}


def test_a_thousand_errors_give_a_short_message() -> None:
    with pytest.raises(InvalidArguments) as caught:
        take.check({"either": ["x"] * 1000, "y" * 10_000: 1})
    assert len(str(caught.value)) < 2000
    assert "more" in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": None, "text": None, "yes": None},
        {"step": {"name": "a", "weight": None, "parts": None}},
        {"pet": {"kind": "cat", "lives": None}},
    ],
)
def test_null_leaves_out_what_is_optional(arguments: dict[str, Any]) -> None:
    def without_nulls(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_nulls(item) for key, item in value.items() if item is not None}
        return value

    assert take.check(arguments) == take.check(without_nulls(arguments))


def test_null_is_refused_for_a_required_argument() -> None:
    @tool
    def need(n: int, maybe: int | None) -> None:
        """Need."""

    assert need.check({"n": 1, "maybe": None}) == {"n": 1, "maybe": None}
    assert "maybe" in fields({"n": 1}, need)
    assert "n" in fields({"n": None, "maybe": 1}, need)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"n": 1} trailing',
        "{'n': 1}",
        '{"n": 1,}',
        '{"n": NaN}',
        '{"n": 1e400}',
        f'{{"n": {"9" * 310}}}',
        '{"x": -Infinity}',
        '{"x": 1e999}',
        '{"n": 1, "n": 1}',
        '{"step": {"name": "a", "name": "b"}}',
        '{"n": ' + "9" * 5000 + "}",
        '"text"',
        "[]",
        "1",
        '{"text": "\ud800"}',
        '{"text": "\\ud800"}',
        '{"anything": "\\udfff"}',
        '{"anything": ' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + "}",
        '{"anything": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        b"\xff\xfe",
        '{"text": "' + "x" * MAX_CHARACTERS + '"}',
    ],
)
def test_anything_but_a_valid_json_object_is_a_typed_error(text: Any) -> None:
    with pytest.raises(InvalidArguments) as caught:
        take.check(text)
    assert len(str(caught.value)) < 1000


def test_deep_python_values_are_a_typed_error_too() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InvalidArguments):
        take.check({"anything": value})


def test_whole_surrogate_pairs_are_characters() -> None:
    assert take.check('{"text": "\\ud83d\\ude00"}') == {"text": "😀"}


def test_python_values_are_converted_to_json() -> None:
    assert take.check({"day": dt.date(2026, 1, 2), "step": Step(name="a")}) == {
        "day": dt.date(2026, 1, 2),
        "step": Step(name="a"),
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(list(take.parameters["properties"])), JSON, max_size=5))
def test_any_object_is_accepted_or_refused_with_its_fields(arguments: dict[str, Any]) -> None:
    try:
        taken = take.check(json.dumps(arguments))
    except InvalidArguments as exc:
        assert exc.fields
        assert {path.split(".")[0] for path in exc.fields} <= set(arguments) | {"arguments"}
    else:
        assert set(taken) <= set(arguments)


@given(st.text() | st.binary())
def test_any_text_is_parsed_or_refused(text: str | bytes) -> None:
    try:
        assert isinstance(parse_arguments(text).parsed, dict)
    except InvalidArguments as exc:
        assert str(exc).encode()


HAND_WRITTEN = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10},
        "who": {"$ref": "#/$defs/who"},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5}, "maxItems": 2},
        "kind": {"enum": ["a", "b", 1]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "fixed": {"const": "x"},
        "free": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "required": ["n"],
    "$defs": {"who": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}
by_hand = Tool(name="by_hand", description="Take.", parameters=HAND_WRITTEN, handler=lambda arguments: arguments)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({}, "n"),
        ({"n": 0}, "n"),
        ({"n": 10}, "n"),
        ({"n": True}, "n"),
        ({"n": 1, "z": 1}, "z"),
        ({"n": 1, "who": {}}, "who.name"),
        ({"n": 1, "who": []}, "who"),
        ({"n": 1, "tags": ["a", "b", "c"]}, "tags"),
        ({"n": 1, "tags": ["A"]}, "tags.0"),
        ({"n": 1, "tags": ["abcdef"]}, "tags.0"),
        ({"n": 1, "kind": True}, "kind"),
        ({"n": 1, "either": "x"}, "either"),
        ({"n": 1, "fixed": "y"}, "fixed"),
        ({"n": 1, "free": {"a": "x"}}, "free.a"),
    ],
)
def test_arguments_are_validated_against_a_hand_written_schema(arguments: Any, path: str) -> None:
    assert path in fields(arguments, by_hand)


def test_valid_arguments_of_a_hand_written_schema_are_accepted() -> None:
    fitting = {"n": 1, "who": {"name": "a", "more": 1}, "tags": ["a"], "kind": 1, "either": None, "free": {"a": 1}}
    assert by_hand.check(fitting) == fitting
    assert by_hand.check({"n": "3", "kind": None}) == {"n": 3}


def doubling(keyword: str, levels: int = 40) -> dict[str, Any]:
    """A schema that refers to itself twice on every level."""
    parts = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    parts[f"a{levels}"] = {"type": "string"}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": parts}


def nested(levels: int) -> Any:
    return {"x": nested(levels - 1)} if levels else "end"


def test_a_schema_whose_cost_doubles_on_every_level_is_refused() -> None:
    for keyword in ("allOf", "anyOf", "oneOf"):
        with pytest.raises(InvalidTool, match="more than 2000 times"):
            Tool.client_side(name="t", description="d", parameters=doubling(keyword))


TWICE = {"anyOf": [{"properties": {"x": {"$ref": "#/$defs/a"}}} for _ in range(2)]}
DOUBLING_VALUE = {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": TWICE}}


def test_arguments_that_are_too_costly_to_correct_are_left_unchanged() -> None:
    tool = Tool.client_side(name="t", description="d", parameters=DOUBLING_VALUE)
    assert tool.check({"x": nested(40)}) == {"x": nested(40)}


def test_a_pattern_cannot_backtrack_endlessly() -> None:
    schema = {"type": "object", "properties": {"t": {"type": "string", "pattern": "^(a+)+$"}}}
    made = Tool(name="slow", description="Match.", parameters=schema, handler=lambda t: t)
    assert "t" in fields({"t": "a" * 50_000 + "!"}, made)


def test_a_schema_that_only_refers_to_itself_is_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": {"$ref": "#/properties/a"}}}
    with pytest.raises(InvalidTool, match="refers to itself"):
        Tool(name="loop", description="Loop.", parameters=schema, handler=lambda given: given)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": ["a"]},
        {"properties": {"a": 1}},
        {"properties": None},
        {"required": "a"},
        {"required": [1]},
        {"properties": {"a": {"type": 5}}},
        {"properties": {"a": {"enum": "red"}}},
        {"properties": {"a": {"anyOf": []}}},
        {"properties": {"a": {"items": "string"}}},
        {"$defs": {"a": "b"}},
    ],
)
def test_an_invalid_schema_is_refused_at_definition(schema: Any) -> None:
    with pytest.raises(InvalidTool, match="no valid JSON Schema"):
        Tool(name="x", description="X.", parameters=schema, handler=print)


KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "anyOf",
        "allOf",
        "$ref",
        "$defs",
        "minimum",
        "pattern",
        "maxLength",
        "additionalProperties",
        "patternProperties",
        "prefixItems",
        "default",
        "description",
        "a",
        "b",
    ]
)
SCHEMA_WORDS = st.sampled_from(
    ["object", "string", "integer", "array", "#/$defs/a", "#", "#/properties", "a", "(", None, True, False, 1, 0.5]
)
NODES = st.recursive(
    SCHEMA_WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(KEYWORDS, NODES, max_size=4), st.dictionaries(st.sampled_from("ab"), NODES, max_size=2), NODES)
def test_no_untrusted_schema_causes_a_crash(extra: Any, properties: Any, given_: Any) -> None:
    try:
        made = Tool.client_side(
            name="x",
            description="X.",
            parameters={
                "type": "object",
                "properties": properties,
                **extra,
            },
        )
        made.strict_parameters()
        made.check({"a": given_, "b": given_})
    except (InvalidTool, InvalidArguments) as exc:
        assert str(exc)


def test_constraints_and_descriptions_reach_the_model() -> None:
    @tool
    def find(query: Annotated[str, Param("Words.", min_length=2, examples=["red shoes"])]) -> None:
        """Find."""

    assert find.parameters["properties"]["query"] == {
        "type": "string", "description": "Words.", "minLength": 2, "examples": ["red shoes"]
    }  # fmt: skip
    assert "query" in fields({"query": "x"}, find)
