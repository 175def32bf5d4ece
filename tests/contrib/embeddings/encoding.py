"""A deterministic encoder for tests: texts are alike by the letters of their words, and by a few words of one sense."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from assistant.contrib.embeddings.services.encoder import Encoded, EncoderFailed
from assistant.services.knowledge.stems import words_of

DIMENSION = 256
SENSES = {"car": "vehicle", "automobile": "vehicle", "yard": "premises", "firm": "company"}


class LettersEncoder:
    """Adds up hashes of four letters of each word; `fails`, `fails_after` (requests) and `languages` can be set."""

    dimension = DIMENSION

    def __init__(self, name: str = "letters 1", languages: frozenset[str] = frozenset(), tokens: int = 0) -> None:
        self.name = name
        self.languages = languages
        self.tokens = tokens
        self.fails = False
        self.fails_after: int | None = None
        self.requests = 0
        self.asked: list[str] = []

    async def encode(self, texts: Sequence[str]) -> Encoded:
        return self.encode_questions(texts)

    def encode_questions(self, texts: Sequence[str]) -> Encoded:
        self.requests += 1
        if self.fails or (self.fails_after is not None and self.requests > self.fails_after):
            raise EncoderFailed("It is out of order.")
        self.asked += texts
        return Encoded([vector(text) for text in texts], self.tokens * len(texts))


def vector(text: str) -> bytes:
    numbers = [0.0] * DIMENSION
    for word in words_of(text):
        padded = f"^{SENSES.get(word, word)}$"
        for at in range(max(1, len(padded) - 3)):
            digest = hashlib.blake2b(padded[at : at + 4].encode(), digest_size=4).digest()
            numbers[int.from_bytes(digest[:3]) % DIMENSION] += 1 if digest[3] % 2 else -1
    numbers[0] += 0.01
    largest = max(map(abs, numbers))
    return bytes(round(number * 127 / largest) & 0xFF for number in numbers)
