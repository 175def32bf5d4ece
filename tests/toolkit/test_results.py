"""Conversion of results to text for the model."""

from __future__ import annotations

import collections
import datetime as dt
import ipaddress
import itertools
import json
import uuid
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, SecretStr, computed_field

from assistant.toolkit import InvalidTool, ToolContext, ToolError, ToolResult, tool
from assistant.toolkit.calls.call import BYTES_PER_TOKEN, MAX_TOKENS, convert, cut, register_converter, result_of
from assistant.toolkit.calls.json_values import MAX_ITEMS


class Size(Enum):
    BIG = "big"


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    A = "a"


class Box(BaseModel):
    size: Size
    weight: Decimal

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_heavy(self) -> bool:
        return self.weight > 1


@dataclass
class Shelf:
    boxes: list[Box]
    at: dt.datetime


Pair = namedtuple("Pair", "a b")


class Array:
    """Like an array of numpy."""

    def tolist(self) -> list[int]:
        return [1, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (None, "Done"),
        (True, "true"),
        (10**40, "1" + "0" * 40),
        (1.5, "1.5"),
        (float("nan"), "null"),
        ([float("inf"), -0.0], "[null,-0.0]"),
        (Decimal("1.10"), '"1.10"'),
        (uuid.UUID(int=0), '"00000000-0000-0000-0000-000000000000"'),
        (dt.date(2026, 1, 2), '"2026-01-02"'),
        (dt.time(3, 4), '"03:04:00"'),
        (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), '"2026-01-02T00:00:00+00:00"'),
        (dt.timedelta(minutes=1), '"PT1M"'),
        (Size.BIG, '"big"'),
        (Number.ONE, "1"),
        (Word.A, "a"),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset({"b", 1}), '[1,"b"]'),
        ((1, "x"), '[1,"x"]'),
        (collections.deque([1, 2]), "[1,2]"),
        (range(3), "[0,1,2]"),
        ({"a": 1}.items(), '[["a",1]]'),
        (Pair(1, 2), '{"a":1,"b":2}'),
        ({Size.BIG: 1, 2: "x", None: 3}, '{"big":1,"2":"x","None":3}'),
        ("lone \ud800", "lone \ufffd"),
        (["\ud800", {"\udfff": 1}], '["\ufffd",{"\ufffd":1}]'),
        ("grün 😀", "grün 😀"),
        (["grün 😀"], '["grün 😀"]'),
        (PurePosixPath("/a"), '"/a"'),
        (ipaddress.ip_address("::1"), '"::1"'),
        (AnyUrl("http://a.example"), '"http://a.example/"'),
        (SecretStr("hidden"), '"**********"'),
        (ValueError("why"), '"why"'),
        (Array(), "[1,2]"),
        (Box(size=Size.BIG, weight=Decimal(2)), '{"size":"big","weight":"2","is_heavy":true}'),
        ((n for n in range(3)), "[0,1,2]"),
        (map(str, [1]), '["1"]'),
    ],
)
def test_a_value_is_shown(value: Any, text: str) -> None:
    assert convert(value) == text


def test_nul_is_replaced_for_not_every_database_keeps_it() -> None:
    assert convert("a\x00b") == "a\ufffdb"
    assert result_of(ToolResult("a", display={"b": "\x00"})).display == {"b": "\ufffd"}


def test_nested_values_are_shown() -> None:
    shelf = Shelf([Box(size=Size.BIG, weight=Decimal(1))], dt.datetime(2026, 1, 2, tzinfo=dt.UTC))
    assert json.loads(convert({"shelves": (shelf for _ in range(1))})) == {
        "shelves": [
            {"boxes": [{"size": "big", "weight": "1", "is_heavy": False}], "at": "2026-01-02T00:00:00+00:00"},
        ]
    }


def endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def explosive() -> Any:
    value: Any = [1]
    for _ in range(25):
        value = [value] * 10
    return value


async def waiting() -> None: ...


@pytest.mark.parametrize(
    "make",
    [
        object,
        endless,
        explosive,
        lambda: len,
        lambda: Size,
        lambda: 10**5000,
        lambda: {1: "a", "1": "b"},
        lambda: ToolContext(secrets={"a": "b"}),
        lambda: [ToolContext()],
    ],
)
def test_a_value_that_cannot_be_converted_is_an_error_to_the_model(make: Any) -> None:
    with pytest.raises(ToolError, match="cannot be shown"):
        convert(make())


def test_an_endless_source_is_cut_visibly() -> None:
    closed: list[bool] = []

    def numbers() -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            closed.append(True)

    for value in (numbers(), itertools.count(), range(10**12)):
        items = json.loads(convert(value))
        assert items[:MAX_ITEMS] == list(range(MAX_ITEMS))
        assert "Cut here" in items[MAX_ITEMS]
    assert closed == [True]


def test_just_enough_items_are_not_called_cut() -> None:
    assert len(json.loads(convert(n for n in range(MAX_ITEMS)))) == MAX_ITEMS


LONG = "x" * (MAX_TOKENS * BYTES_PER_TOKEN + 5)


def test_a_long_text_is_cut_and_says_so() -> None:
    shown = cut(LONG)
    assert len(shown) < len(LONG) + 100
    assert f"{len(LONG) - 5:,} of {len(LONG):,}" in shown
    assert cut(LONG[:-5]) == LONG[:-5]


def test_scripts_of_several_bytes_a_character_are_cut_earlier_and_between_characters() -> None:
    shown, _, told = cut("語" * MAX_TOKENS * 2).partition("\n")
    assert set(shown) == {"語"}
    assert MAX_TOKENS < len(shown) < MAX_TOKENS * 4 / 3 + 1
    assert f"{len(shown):,} of 20,000" in told


@pytest.mark.parametrize("value", [LONG, ToolResult(LONG)])
def test_the_full_text_of_a_cut_result_is_kept(value: Any) -> None:
    result = result_of(value)
    assert len(result.content) < len(LONG) + 100
    assert result.full == LONG


def test_a_result_of_the_tools_own_is_made_safe_too() -> None:
    result = result_of(ToolResult("lone \ud800", display={"n": float("nan"), "at": dt.date(2026, 1, 2)}, is_error=True))
    assert (result.content, result.display, result.is_error) == ("lone \ufffd", {"n": None, "at": "2026-01-02"}, True)
    with pytest.raises(ToolError):
        result_of(ToolResult("x", display=object()))


def test_a_converter_can_be_registered_for_a_type() -> None:
    class Money:
        def __init__(self, cents: int) -> None:
            self.cents = cents

    register_converter(lambda value: isinstance(value, Money), lambda money: {"cents": money.cents})
    assert convert([Money(5)]) == '[{"cents":5}]'


@dataclass
class Column:
    attname: str


class EncryptedColumn(Column):
    pass


class Row:
    """Like a database row, without a database."""

    pk = 7

    @dataclass
    class Meta:
        concrete_fields: list[Column] = field(
            default_factory=lambda: [
                Column("id"), Column("tenant_id"), Column("name"), Column("password"), Column("api_key"),
                Column("unloaded"), EncryptedColumn("notes"), Column("tokens_used"),
            ]
        )  # fmt: skip

    _meta = Meta()
    password = api_key = notes = "hidden"
    tokens_used = 5

    def __init__(self, tenant_id: int | None = None) -> None:
        self.id, self.name, self.tenant_id = 7, "Ada", tenant_id

    def get_deferred_fields(self) -> set[str]:
        return {"unloaded"}


def test_a_row_shows_its_loaded_columns_but_no_secrets() -> None:
    assert json.loads(convert(Row())) == {"id": 7, "tenant_id": None, "name": "Ada", "tokens_used": 5}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    )
)
def test_every_json_value_becomes_utf8_and_valid_json(value: Any) -> None:
    text = convert(value)
    assert text.encode().decode() == text
    if value is not None and not isinstance(value, str):
        json.loads(text, parse_constant=pytest.fail)


async def test_none_of_an_unconvertible_value_reaches_the_model() -> None:
    class Hidden:
        def __repr__(self) -> str:
            return "s3cr3t"

    @tool
    def careless() -> Any:
        """Return it."""
        return [Hidden()]

    with pytest.raises(ToolError) as caught:
        await careless.call("", ToolContext())
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("value", [[ToolResult("a")], {"a": ToolResult("a")}, ToolResult(content=ToolResult("a"))])  # type: ignore[arg-type]
def test_a_tool_result_nested_in_another_value_is_refused(value: Any) -> None:
    with pytest.raises(InvalidTool, match="is nested in another value"):
        result_of(value)
