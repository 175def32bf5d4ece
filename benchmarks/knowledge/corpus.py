"""Documents with the facts of `facts.jsonl`, among generated ones about such matters, and the questions about them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from benchmarks.knowledge.distractors import Section, sections

Style = Literal["titled", "headings", "neither"]
FOLDER = Path(__file__).parent
# Generated sections around the facts of a document.
NEIGHBOURS = 3
# Sections of a generated document.
SECTIONS = 5


@dataclass(frozen=True, slots=True)
class Source:
    """A document to store: of the kind "markdown" with headings, else "text"."""

    title: str
    text: str
    kind: str


def documents(*, style: Style, passages: int, seed: int = 7) -> Iterator[Source]:
    """Yield documents with all facts and generated sections, about so many passages in all.

    Args:
        style: "titled" with titles and headings; with "headings" titles are numbers; with "neither" there are no
            headings either.
    """
    chance = random.Random(seed)
    made = 0
    number = 0
    by_title: dict[tuple[str, str], list[Section]] = {}
    for fact in facts().values():
        section = Section(fact["title"], fact["heading"], fact["text"])
        by_title.setdefault((fact["language"], fact["title"]), []).append(section)
    for (language, title), own in by_title.items():
        around = sections(language, chance)
        mixed = [*own, *(next(around) for _ in range(NEIGHBOURS))]
        chance.shuffle(mixed)
        number += 1
        made += len(mixed)
        yield _source(title, mixed, style, number)
    generated = {language: sections(language, chance) for language in ("en", "de", "es")}
    while made < passages:
        language = chance.choices(("en", "de", "es"), (8, 1, 1))[0]
        parts = [next(generated[language]) for _ in range(SECTIONS)]
        number += 1
        made += len(parts)
        yield _source(f"{parts[0].title} {number}", parts, style, number)


def _source(title: str, parts: list[Section], style: Style, number: int) -> Source:
    shown = title if style == "titled" else f"{number:05}"
    if style == "neither":
        return Source(shown, "\n\n".join(part.text for part in parts), "text")
    return Source(shown, "\n\n".join(f"## {part.heading}\n\n{part.text}" for part in parts), "markdown")


@cache
def facts() -> dict[str, dict[str, str]]:
    return {fact["fact"]: fact for fact in _lines("facts.jsonl")}


def cases() -> Iterator[dict[str, Any]]:
    """Yield the cases of `assistant_evaluate_knowledge`; every other one of a kind is for development."""
    counts: dict[str, int] = {}
    for case in (*_asked(), *_others()):
        number = counts[case["kind"]] = counts.get(case["kind"], 0) + 1
        yield {**case, "half": "development" if number % 2 else "test"}


def _asked() -> Iterator[dict[str, Any]]:
    questions = list(_lines("questions.jsonl"))
    for kind in ("same", "natural", "other", "identifier"):
        for line in questions:
            yield {
                "kind": f"{kind} words" if kind in ("same", "other") else kind,
                "language": line["language"],
                "question": line[kind],
                "wordings": line["wordings"],
                "expected": [facts()[line["fact"]]["text"]],
            }


def _others() -> Iterator[dict[str, Any]]:
    for line in _lines("more_questions.jsonl"):
        expected = [facts()[name]["text"] for name in line.pop("facts", ())]
        yield {**line, "expected": expected}


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with (FOLDER / name).open(encoding="utf-8") as file:
        yield from map(json.loads, file)
