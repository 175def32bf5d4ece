"""Finds the passages of attached documents that an answer is based on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.services.knowledge.excerpts import words_of
from assistant.services.knowledge.passages import Piece, split

# Limits of one answer: passages returned, lines compared, and characters of each line.
MAX_PASSAGES, MAX_LINES, MAX_LINE = 8, 100, 1_000
# Passages that are compared with an answer: of one document, and of all together.
MAX_PIECES, MAX_PIECES_TOGETHER = 200, 600
# A line is based on a passage if they share at least this many words, and at least this share of the line's words.
MIN_WORDS, MIN_SHARE = 3, 0.34
# Shorter words are in every text; numbers say more than words.
MIN_LETTERS, MIN_DIGITS, NUMBERS_COUNT = 4, 2, 2


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """What a model was given of an attached document.

    Attributes:
        kind: as for `split`.
        text: the whole document, "" if only `pieces` of it were given.
    """

    id: str
    name: str
    kind: str
    text: str = field(default="", repr=False)
    pieces: Sequence[Piece] = field(default=(), repr=False)

    def passages(self) -> Sequence[Piece]:
        return (self.pieces or split(self.text, kind=self.kind))[:MAX_PIECES]


def cited_passages(documents: Iterable[GivenDocument], answer: str) -> list[dict[str, Any]]:
    """Return the passages that an answer is based on, in the order of the answer, in the form of `search_docs`.

    A passage counts if a line of the answer shares many words with it. Of a document that the answer names, at least
    the passage that shares most is returned.
    """
    lines = [words for line in answer.splitlines()[:MAX_LINES] if (words := _telling(line[:MAX_LINE]))]
    found: list[tuple[int, GivenDocument, int, Piece]] = []
    left = MAX_PIECES_TOGETHER
    for document in documents:
        pieces = document.passages()[:left]
        left -= len(pieces)
        places = _places(pieces, lines, is_named=document.name.casefold() in answer.casefold())
        found += ((line, document, index, pieces[index]) for index, line in places.items())
    found.sort(key=lambda one: one[0])
    return [_described(document, index, piece) for _, document, index, piece in found[:MAX_PASSAGES]]


def _places(pieces: Sequence[Piece], lines: Sequence[set[str]], *, is_named: bool) -> dict[int, int]:
    """Return the passages that lines are based on, each with the first such line."""
    words = [_telling(f"{piece.heading} {piece.text}") for piece in pieces]
    having = Counter(word for one in words for word in one)
    rarity = {word: math.log(1 + len(pieces) / count) for word, count in having.items()}

    def score(index: int, line: set[str]) -> float:
        return sum(rarity[word] for word in words[index] & line)

    places: dict[int, int] = {}
    for number, line in enumerate(lines):
        best = max(range(len(pieces)), key=lambda index: score(index, line), default=None)
        if best is None or best in places:
            continue
        shared = _weight(words[best] & line)
        if shared >= MIN_WORDS and shared >= MIN_SHARE * _weight(line):
            places[best] = number
    if is_named and not places:
        said = set().union(*lines)
        best = max(range(len(pieces)), key=lambda index: score(index, said), default=None)
        if best is not None and words[best] & said:
            places[best] = 0
    return places


def _telling(text: str) -> set[str]:
    return {word for word in words_of(text) if len(word) >= MIN_LETTERS or not word.isascii() or _is_number(word)}


def _is_number(word: str) -> bool:
    return len(word) >= MIN_DIGITS and word.isdigit()


def _weight(words: Iterable[str]) -> int:
    return sum(NUMBERS_COUNT if _is_number(word) else 1 for word in words)


def _described(document: GivenDocument, index: int, piece: Piece) -> dict[str, Any]:
    return {
        "source_id": f"file-{document.id}.{index + 1}",
        "source": document.name,
        "heading": piece.heading,
        "page": piece.page,
        "text": piece.text,
    }
