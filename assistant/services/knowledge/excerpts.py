"""Finds the passages of one text that fit a question, for texts that are not in the index."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from assistant.services.knowledge.full_text import STOP_WORDS
from assistant.services.knowledge.passages import Piece, split

_WORD = re.compile(r"[^\W_]+")
# Scripts that write no blanks between words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
MAX_WORDS = 30


def best_pieces(text: str, *, kind: str, question: str, characters: int) -> list[Piece]:
    """Return the passages with the rarest of the question's words, in the order of the text, up to so many characters.

    Without a word of the question in the text, or in the question, the beginning of the text.

    Args:
        kind: as for `split`.
    """
    pieces = split(text, kind=kind)
    words = set(list(dict.fromkeys(words_of(question)))[:MAX_WORDS])
    found = [words & set(words_of(f"{piece.heading} {piece.text}")) for piece in pieces]
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


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text by which passages are compared: in lower case, without plurals and common words.

    Of scripts without blanks between words, pairs of letters.
    """
    for word in _WORD.findall(text.lower()):
        if word in STOP_WORDS:
            continue
        if _UNSPACED.search(word) is None:
            yield word[:-1] if len(word) > 3 and word.endswith("s") else word
            continue
        for run in _UNSPACED.findall(word):
            yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
