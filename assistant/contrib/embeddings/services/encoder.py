"""What turns texts into vectors: one protocol for providers and for the model on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

# Texts that an encoder gets at once, and characters of each.
MAX_TEXTS = 64
MAX_CHARACTERS = 4_000


class EncoderFailed(Exception):
    """No vectors could be made; people read the message."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors of texts, in their order: a signed byte for each dimension. `tokens` is what a provider has counted."""

    vectors: Sequence[bytes]
    tokens: int = 0


class Encoder(Protocol):
    """Makes vectors of texts: the more alike two texts are in meaning, the smaller the angle between theirs.

    Attributes:
        name: of the encoder with its version: vectors of two names are not comparable.
        dimension: the length of its vectors; 0 where only the vectors tell.
        languages: ISO codes of the languages that it understands; empty for all.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def languages(self) -> frozenset[str]: ...

    async def encode(self, texts: Sequence[str]) -> Encoded:
        """Return the vectors of at most `MAX_TEXTS` passages. Raises `EncoderFailed`."""
        ...

    def encode_questions(self, texts: Sequence[str]) -> Encoded:
        """Return the vectors of questions at once, in a thread without an event loop. Raises `EncoderFailed`."""
        ...
