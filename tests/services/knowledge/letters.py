"""Draws words as points, for pictures of pages: no font is needed."""

from __future__ import annotations

_LETTERS = {
    "A": ("01110", "10001", "10001", "11111", "10001", "10001", "10001"),
    "E": ("11111", "10000", "10000", "11110", "10000", "10000", "11111"),
    "F": ("11111", "10000", "10000", "11110", "10000", "10000", "10000"),
    "H": ("10001", "10001", "10001", "11111", "10001", "10001", "10001"),
    "K": ("10001", "10010", "10100", "11000", "10100", "10010", "10001"),
    "P": ("11110", "10001", "10001", "11110", "10000", "10000", "10000"),
    "R": ("11110", "10001", "10001", "11110", "10100", "10010", "10001"),
    "3": ("11110", "00001", "00001", "01110", "00001", "00001", "11110"),
    "5": ("11111", "10000", "11110", "00001", "00001", "10001", "01110"),
    " ": ("00000",) * 7,
}
# Points of a side of one of a letter's dots, and dots around the text.
_DOT = 8
_EDGE = 12
_ROWS = 7


def picture_of(text: str) -> tuple[int, int, bytes]:
    """Return the width and height of a picture of a line, and its points: a byte each, black on white."""
    columns = len(text) * 6 + 2 * _EDGE
    rows = [bytearray(b"\xff" * columns * _DOT) for _ in range((_ROWS + 2 * _EDGE) * _DOT)]
    for at, letter in enumerate(text):
        for row, dots in enumerate(_LETTERS[letter]):
            for column, dot in enumerate(dots):
                if dot == "1":
                    _blacken(rows, (_EDGE + at * 6 + column) * _DOT, (_EDGE + row) * _DOT)
    return columns * _DOT, len(rows), b"".join(rows)


def _blacken(rows: list[bytearray], left: int, top: int) -> None:
    for row in rows[top : top + _DOT]:
        row[left : left + _DOT] = b"\x00" * _DOT
