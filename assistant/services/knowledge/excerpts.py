"""Finds the passages of one text that fit a question, for texts that are not in the index."""

from __future__ import annotations

import math
from collections import Counter

from assistant.services.knowledge.passages import Piece, split
from assistant.services.knowledge.stems import language_of, languages_of, stem, stems, stop_words, words_of

MAX_WORDS = 30


def best_pieces(text: str, *, kind: str, question: str, characters: int) -> list[Piece]:
    """Return the passages with the rarest of the question's words, in the order of the text, up to so many characters.

    Without a word of the question in the text, or in the question, the beginning of the text.

    Args:
        kind: as for `split`.
    """
    pieces = split(text, kind=kind)
    language = language_of(text)
    ignored = frozenset[str]().union(*map(stop_words, languages_of(question)))
    asked = dict.fromkeys(stem(word, language) for word in words_of(question) if word not in ignored)
    words = set(list(asked)[:MAX_WORDS])
    found = [words & set(stems(f"{piece.heading} {piece.text}", language)) for piece in pieces]
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
