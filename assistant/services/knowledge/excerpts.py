"""Finds the passages of one text that fit a question, for texts that no index holds."""

from __future__ import annotations

import math
import re
from collections import Counter

from assistant.services.knowledge.full_text import STOP_WORDS
from assistant.services.knowledge.passages import Piece, split

_WORD = re.compile(r"[^\W_]+")
MAX_WORDS = 30


def best_pieces(text: str, *, kind: str, question: str, characters: int) -> list[Piece]:
    """Return the passages with the rarest of the question's words, in the order of the text, up to so many characters.

    Without a word of the question in the text, or in the question, the beginning of the text.

    Args:
        kind: as for `split`.
    """
    pieces = split(text, kind=kind)
    wanted = dict.fromkeys(_stem(word) for word in _WORD.findall(question.lower()) if word not in STOP_WORDS)
    words = set(list(wanted)[:MAX_WORDS])
    found = [
        words & {_stem(word) for word in _WORD.findall(f"{piece.heading} {piece.text}".lower())} for piece in pieces
    ]
    having = Counter(word for one in found for word in one)
    rarity = {word: math.log(1 + len(pieces) / count) for word, count in having.items()}
    ranked = sorted(range(len(pieces)), key=lambda index: (-sum(rarity[word] for word in found[index]), index))
    chosen: list[int] = []
    for index in ranked:
        characters -= len(pieces[index].text)
        if characters < 0 or (having and not found[index]):
            break
        chosen.append(index)
    return [pieces[index] for index in sorted(chosen)]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
