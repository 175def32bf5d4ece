"""Generated sections of handbooks about the matters of the facts, which answer none of the questions."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document."""

    title: str
    heading: str
    text: str


# Of each language: what sections are about, who does it, where, and sentences with places for those.
_PARTS = json.loads((Path(__file__).parent / "distractors.json").read_text("utf-8"))
_LETTERS = "ABCDEFGHKLMNPRSTVWX"


def sections(language: str, chance: random.Random) -> Iterator[Section]:
    """Yield sections without end: three to five sentences about one matter."""
    parts = _PARTS[language]
    while True:
        matter = chance.choice(parts["matter"])
        place = chance.choice(parts["place"])
        texts = chance.sample(parts["sentence"], chance.randint(3, 5))
        sentences = [
            text.format(
                matter=matter,
                Matter=matter[0].upper() + matter[1:],
                actor=chance.choice(parts["actor"]),
                place=place,
                n=chance.randint(2, 12),
                m=chance.randint(13, 60),
                code=f"{chance.choice(_LETTERS)}{chance.choice(_LETTERS)}-{chance.randint(10, 999)}",
            )
            for text in texts
        ]
        name = matter.split(" ", 1)[-1]
        title = f"{chance.choice(parts['kind'])} {name} {place}"
        yield Section(title, f"{chance.choice(parts['aspect'])}: {name}", " ".join(sentences))
