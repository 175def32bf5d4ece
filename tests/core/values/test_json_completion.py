"""JSON in pieces: passed on unchanged if it is valid, else completed with the marker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.core.values.json_completion import MARKER_NAME, MAX_SCALAR, JsonStream, complete_json, completion_of
from assistant.toolkit.bounded_json import MAX_DEPTH

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
texts = st.builds(json.dumps, values, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 2]))
DOCUMENT = '{"a": [1, -2.5e+3, true, null, {}], "b\\u00e9": "x\\"\\ud83d\\ude00", "c": {"d": []}} '


def passed_on(pieces: Sequence[str]) -> str:
    stream = JsonStream()
    return "".join([*map(stream.add, pieces), stream.finish()])


def pieces_of(text: str, cuts: Sequence[int]) -> list[str]:
    places = [0, *sorted(cuts), len(text)]
    return [text[begin:end] for begin, end in pairwise(places)]


def is_marked(value: Any) -> bool:
    if isinstance(value, dict):
        return MARKER_NAME in value or any(map(is_marked, value.values()))
    return isinstance(value, list) and (any(map(is_marked, value)) or (value != [] and isinstance(value[-1], str)))


@given(texts, st.data())
def test_json_is_passed_on_unchanged(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text))))
    assert passed_on(pieces_of(text, cuts)) == text


def test_a_document_cut_anywhere_gives_json_with_the_marker() -> None:
    for end in range(1, len(DOCUMENT) - 1):
        value = json.loads(passed_on([DOCUMENT[:end]]))
        assert is_marked(value), DOCUMENT[:end]
        assert passed_on(list(DOCUMENT[:end])) == passed_on([DOCUMENT[:end]])


@given(st.text(st.sampled_from('{}[]:,"\\u0d 1-.eatrulfsn\n\x00é')), st.data())
def test_any_text_in_any_pieces_becomes_the_same_json(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text))))
    whole = passed_on(pieces_of(text, cuts))
    assert whole == passed_on([text])
    assert whole == "" if not text else json.loads(whole) is not ...
    assert whole == text or not is_json(text) or not text.strip()


def is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return False
    return True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1,"b":2', '{"a":1,"b":null,"__not_json__":"2"}'),
        ("{'a': 1}", '{"__not_json__":"\'a\': 1}"}'),
        ('{"a": "Par', '{"a": "Par","__not_json__":""}'),
        ('{"a', '{"a":null,"__not_json__":""}'),
        ('{"a": NaN}', '{"a": null,"__not_json__":"NaN}"}'),
        ('{"a": "\\xd83d"}', '{"a": "","__not_json__":"\\\\xd83d\\"}"}'),
        ('{"a": [1, 2', '{"a": [1, "2"]}'),
        ('{"a":1}{"a":1}', '{"a":1}'),
        ("Paris", '{"__not_json__":"Paris"}'),
        ('"Par', '"Par"'),
        (" ", " {}"),
        ("", ""),
    ],
)
def test_texts_that_are_not_json_are_completed(text: str, expected: str) -> None:
    assert passed_on(list(text)) == complete_json(text) == expected


def test_depth_and_length_have_bounds() -> None:
    assert passed_on(["[" * MAX_DEPTH, "]" * MAX_DEPTH]) == "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert passed_on(["[" * (MAX_DEPTH + 1), "]"]).startswith("[" * MAX_DEPTH + '"')
    digits = "1" * (MAX_SCALAR + 10)
    assert json.loads(passed_on(list(f'{{"a":{digits}}}')))[MARKER_NAME].startswith("1")


def test_a_text_that_was_passed_on_can_be_completed() -> None:
    assert completion_of('{"a":') == 'null,"__not_json__":""}'
    assert completion_of('{"a":1}') == ""
    assert completion_of("") == ""


@pytest.mark.parametrize("number", ["1e400", "-1E+999", "9" * 310, "9" * 5_000])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_number_that_many_parsers_refuse_is_not_passed_on(number: str, size: int) -> None:
    text = f'{{"a": {number}}}'
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert json.loads(passed_on(pieces)) == {"a": None, MARKER_NAME: f"{number}}}"}


@pytest.mark.parametrize("number", ["1e308", "1e-400", "9" * 308, "0." + "1" * 1_000])
def test_a_number_that_a_double_holds_is_passed_on(number: str) -> None:
    assert complete_json(f"[{number}]") == f"[{number}]"
