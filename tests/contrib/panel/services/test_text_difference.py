"""The difference of two texts: complete, within lines, and bounded for hostile texts."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.contrib.panel.services.text_difference import MAX_LINES, Difference, Row, difference_of


def sides(found: Difference) -> tuple[list[str], list[str]]:
    """Return the texts of both sides, without the gaps."""
    old = ["".join(piece.text for piece in row.before) for row in found.rows if row.old is not None]
    new = ["".join(piece.text for piece in row.after) for row in found.rows if row.new is not None]
    return old, new


def kinds(found: Difference) -> list[str]:
    return [row.kind for row in found.rows]


TEXTS = st.lists(st.sampled_from(["a", "b", "", "a b", "be kind", "be brief"]), max_size=6)


@given(TEXTS, TEXTS)
def test_both_texts_are_there_in_order_with_their_line_numbers(old: list[str], new: list[str]) -> None:
    found = difference_of("\n".join([*old, "end"]), "\n".join([*new, "end"]))
    if not any(row.kind == "gap" for row in found.rows):
        assert sides(found) == ([*old, "end"], [*new, "end"])
        assert [row.old for row in found.rows if row.old] == list(range(1, len(old) + 2))
        assert [row.new for row in found.rows if row.new] == list(range(1, len(new) + 2))
    assert found.is_empty == (old == new)


def test_changed_words_are_told_from_those_that_stayed() -> None:
    (row,) = difference_of("Be very kind.", "Be very brief.").rows
    assert [piece.text for piece in row.before if piece.is_changed] == ["kind"]
    assert [piece.text for piece in row.after if piece.is_changed] == ["brief"]


def test_a_line_more_and_a_line_less() -> None:
    assert kinds(difference_of("a\nb", "a\nx y\nb")) == ["same", "added", "same"]
    assert kinds(difference_of("a\nx y\nb", "a\nb")) == ["same", "removed", "same"]


def test_unchanged_lines_far_from_a_change_are_a_gap() -> None:
    lines = [str(number) for number in range(50)]
    found = difference_of("\n".join(lines), "\n".join([*lines[:25], "new", *lines[25:]]))
    assert found.rows[0] == Row("gap", skipped=22) and found.rows[-1] == Row("gap", skipped=22)
    assert len(found.rows) == 2 + 3 + 1 + 3


def test_texts_that_are_too_long_are_cut_and_said_to_be() -> None:
    found = difference_of("\n".join(f"a{n}" for n in range(3000)), "\n".join(f"b{n}" for n in range(3000)))
    assert found.is_cut and len(found.rows) == MAX_LINES


HOSTILE = {
    "one letter": lambda seed: "\n".join("a" * 1500),
    "two lines by turns": lambda seed: "\n".join(seed.choice("ab") for _ in range(1500)),
    "few different lines": lambda seed: "\n".join(seed.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(1500)),
    "many, often repeated": lambda seed: "\n".join(str(seed.randrange(150)) for _ in range(1500)),
    "short enough for no junk": lambda seed: "\n".join(seed.choice("ab") for _ in range(199)),
    "one long line": lambda seed: " ".join(seed.choice("ab") for _ in range(50_000)),
    "many long lines": lambda seed: "\n".join(" ".join(seed.choice("ab") for _ in range(240)) for _ in range(200)),
    "no words": lambda seed: "".join(seed.choice("{}[]-.") for _ in range(100_000)),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_take_no_time(kind: str) -> None:
    old, new = (HOSTILE[kind](random.Random(number)) for number in (1, 2))
    began = time.process_time()
    found = difference_of(old, new)
    assert time.process_time() - began < 5, kind
    assert sum(len(piece.text) for row in found.rows for piece in (*row.before, *row.after)) <= len(old) + len(new)
