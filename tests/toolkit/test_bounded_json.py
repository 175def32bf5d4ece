"""The depth limit of JSON, which is checked before parsing, so that it is the same on every Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.client.reply import called_tool
from assistant.core.llm.typed_output import InvalidOutput, OutputType
from assistant.core.values.messages import ToolCall
from assistant.providers.openai_wire.call_assembler import _is_json, _is_within
from assistant.toolkit import InvalidArguments
from assistant.toolkit.bounded_json import (
    MAX_DEPTH,
    BoundedDecoder,
    TooDeep,
    TooManyValues,
    check_depth,
    check_shape,
    is_deeper,
    load_json,
)
from assistant.toolkit.calls.arguments import MAX_DEPTH as MAX_ARGUMENTS_DEPTH
from assistant.toolkit.calls.arguments import parse_arguments

BEYOND = (MAX_DEPTH + 1, 900, 9_000, 50_000)
KINDS: dict[str, Callable[[int], str]] = {
    "arrays": lambda levels: "[" * levels + "]" * levels,
    "objects": lambda levels: '{"a":' * levels + "1" + "}" * levels,
    "both": lambda levels: '[{"a":' * (levels // 2) + ("[]" if levels % 2 else "1") + "}]" * (levels // 2),
    "wide": lambda levels: "[" + "[{}]," * 500 + "[" * (levels - 1) + "]" * levels,
    "after brackets in strings": lambda levels: '["\\"]]]{{", ' + "[" * (levels - 1) + "]" * levels,
}
kinds = pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)


@kinds
@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH])
def test_what_is_not_too_deep_is_read(made: Callable[[int], str], levels: int) -> None:
    text = made(levels)
    assert load_json(text) == load_json(text.encode()) == load_json(text, loads=msgspec.json.decode) == json.loads(text)
    assert not is_deeper(json.loads(text))
    assert json.loads(text, cls=BoundedDecoder) == json.loads(text)


@kinds
@pytest.mark.parametrize("levels", BEYOND)
def test_what_is_deeper_is_refused_by_every_reader(made: Callable[[int], str], levels: int) -> None:
    text = made(levels)
    for loads in (json.loads, msgspec.json.decode):
        for given_text in (text, text.encode()):
            with pytest.raises(TooDeep):
                load_json(given_text, loads=loads)
    with pytest.raises(json.JSONDecodeError, match="levels deep"):
        json.loads(text, cls=BoundedDecoder)


@pytest.mark.parametrize("levels", BEYOND)
def test_the_depth_of_values_is_counted_even_if_they_contain_themselves(levels: int) -> None:
    value: Any = ()
    for level in range(levels - 1):
        value = ({"a": value}, [value], (value,))[level % 3]
    assert is_deeper(value)
    value = []
    value.append(value)
    assert is_deeper(value)


@pytest.mark.parametrize(
    "text", ["[" * 99_999 + '"', '"' + "[" * 99_999, '"' + "\\[" * 99_999, '"\\' * 99_999, "]" * 99_999, "\ud800["]
)
def test_invalid_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        load_json(text)


@settings(max_examples=50)
@given(
    st.recursive(
        st.text(alphabet='[]{}"\\x\n') | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='[]{}"\\x'), inner),
    ),
    st.booleans(),
    st.integers(0, 6),
)
def test_the_levels_of_a_text_are_those_of_its_value(value: Any, indented: bool, bound: int) -> None:
    text = json.dumps(value, indent=1 if indented else None, ensure_ascii=indented)
    if is_deeper(value, bound):
        with pytest.raises(TooDeep):
            check_depth(text, bound)
    else:
        check_depth(text, bound)


def arguments(levels: int) -> str:
    """Return a call's arguments with this many levels."""
    return '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


def test_arguments_have_a_bound_of_their_own() -> None:
    for levels in (MAX_ARGUMENTS_DEPTH - 1, MAX_ARGUMENTS_DEPTH):
        assert parse_arguments(arguments(levels)).text == arguments(levels)
    for levels in (MAX_ARGUMENTS_DEPTH + 1, 900, 9_000, 100_000):
        with pytest.raises(InvalidArguments, match="64 levels"):
            parse_arguments(arguments(levels))


@pytest.mark.parametrize("levels", [2, MAX_DEPTH - 1, MAX_DEPTH, *BEYOND])
def test_the_depth_limit_does_not_depend_on_the_python_version(levels: int) -> None:
    call, is_read = ToolCall("c", "get", f" {arguments(levels)}"), levels <= MAX_DEPTH
    assert call.canonical == ("get", arguments(levels))
    assert bool(called_tool(call, None).arguments) == is_read
    assert _is_json(call.arguments) == is_read
    # The arguments are not contained in `{}`; for arguments that cannot be parsed the answer is True.
    assert _is_within(call.arguments, "{}") != is_read


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, *BEYOND])
def test_an_answer_is_read_to_the_same_depth(levels: int) -> None:
    text = f'{{"value":{"[" * (levels - 1)}{"]" * (levels - 1)}}}'
    if levels < MAX_DEPTH:
        assert OutputType(list).parse(text) == json.loads(text)["value"]
    else:
        with pytest.raises(InvalidOutput, match=f"more than {MAX_DEPTH} levels"):
            OutputType(list).parse(text)


@kinds
@pytest.mark.parametrize("levels", [MAX_DEPTH, *BEYOND])
def test_the_shape_of_a_large_text_has_the_same_depth(made: Callable[[int], str], levels: int) -> None:
    text = made(levels).encode()
    if levels <= MAX_DEPTH:
        check_shape(text, max_values=10_000)
        return
    with pytest.raises(TooDeep):
        check_shape(text, max_values=1_000_000)


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
@settings(max_examples=50)
def test_values_are_counted_but_not_what_is_in_texts(value: Any) -> None:
    def values_of(one: Any) -> int:
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        return 1 + sum(map(values_of, inner))

    text, most = json.dumps(value).encode(), values_of(value)
    empty = text.count(b"[]") + text.count(b"{}")
    check_shape(text, max_values=most + empty)
    if most > 1:
        with pytest.raises(TooManyValues):
            check_shape(text, max_values=most // 2)
