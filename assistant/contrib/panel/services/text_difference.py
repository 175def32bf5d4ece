"""The difference of two texts, line by line and within changed lines, in bounded time and size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "changed", "removed", "added", "gap"]
# Lines of each text that are compared, from the first that differs.
MAX_LINES = 1500
# Unchanged lines that are shown around changes.
CONTEXT = 3
# Comparing two lines word by word takes up to the product of their numbers of words: the limits for one pair of lines
# and for all.
MAX_WORD_PAIRS = 250_000
MAX_WORD_PAIRS_OF_ALL = 2_000_000
_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line, and whether the other line has something else there."""

    text: str
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the older text beside one of the newer; a side without one has no number.

    Attributes:
        kind: "gap" stands for `skipped` lines that both texts have. Only rows that are "changed" have changed pieces.
    """

    kind: Kind
    old: int | None = None
    new: int | None = None
    before: tuple[Piece, ...] = ()
    after: tuple[Piece, ...] = ()
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """The rows of a comparison; `is_cut` if the texts were too long to be compared to their ends."""

    rows: tuple[Row, ...]
    removed: int
    added: int
    is_cut: bool

    @property
    def is_empty(self) -> bool:
        return not self.removed and not self.added and not self.is_cut


def difference_of(before: str, after: str) -> Difference:
    """Return the difference of two texts."""
    old = before.splitlines()
    new = after.splitlines()
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    changed_old = old[start : len(old) - end]
    changed_new = new[start : len(new) - end]
    is_cut = max(len(changed_old), len(changed_new)) > MAX_LINES
    found = list(_same(old, start, 0, 0))
    found += _changes(changed_old[:MAX_LINES], changed_new[:MAX_LINES], start)
    if not is_cut:
        found += _same(old[len(old) - end :], end, len(old) - end, len(new) - end)
    removed = sum(row.old is not None and row.kind != "same" for row in found)
    added = sum(row.new is not None and row.kind != "same" for row in found)
    return Difference(tuple(_with_gaps(found)), removed, added, is_cut)


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines at their beginning two texts share."""
    count = 0
    for first, second in zip(old, new, strict=False):
        if first != second:
            break
        count += 1
    return count


def _changes(old: Sequence[str], new: Sequence[str], start: int) -> Iterator[Row]:
    """Yield the rows of the lines of two texts, which begin at line `start`, counted from 0."""
    left = MAX_WORD_PAIRS_OF_ALL
    # Lines that occur often are no anchors (`autojunk`): without that, hostile texts take time without bound.
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            yield from _same(old[i1:i2], i2 - i1, start + i1, start + j1)
            continue
        paired = min(i2 - i1, j2 - j1)
        for i, j in zip(range(i1, i1 + paired), range(j1, j1 + paired), strict=True):
            before, after, cost = _words(old[i], new[j], left)
            left -= cost
            yield Row("changed", start + i + 1, start + j + 1, before, after)
        for i in range(i1 + paired, i2):
            yield Row("removed", old=start + i + 1, before=(Piece(old[i]),))
        for j in range(j1 + paired, j2):
            yield Row("added", new=start + j + 1, after=(Piece(new[j]),))


def _same(lines: Sequence[str], count: int, old: int, new: int) -> Iterator[Row]:
    for index in range(count):
        piece = (Piece(lines[index]),)
        yield Row("same", old + index + 1, new + index + 1, piece, piece)


def _words(before: str, after: str, left: int) -> tuple[tuple[Piece, ...], tuple[Piece, ...], int]:
    """Return both lines in pieces, and what the comparison cost of the `left` pairs of words."""
    old = _WORDS.findall(before)
    new = _WORDS.findall(after)
    cost = len(old) * len(new)
    if cost > min(left, MAX_WORD_PAIRS):
        return (Piece(before, is_changed=True),), (Piece(after, is_changed=True),), 0
    sides: tuple[list[Piece], list[Piece]] = ([], [])
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for side, words in zip(sides, (old[i1:i2], new[j1:j2]), strict=True):
            if words:
                side.append(Piece("".join(words), tag != "equal"))
    return tuple(sides[0]), tuple(sides[1]), cost


def _with_gaps(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows, with a gap in place of unchanged ones that are not near a change."""
    changed = [index for index, row in enumerate(rows) if row.kind != "same"]
    near = {index for place in changed for index in range(place - CONTEXT, place + CONTEXT + 1)}
    skipped = 0
    for index, row in enumerate(rows):
        if index not in near:
            skipped += 1
            continue
        if skipped:
            yield Row("gap", skipped=skipped)
            skipped = 0
        yield row
    if skipped:
        yield Row("gap", skipped=skipped)
