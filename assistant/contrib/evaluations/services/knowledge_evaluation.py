"""Measures retrieval by questions whose answers are known: what is found, at which place, and what is refused."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

# Limits of a file: cases, and characters of a line.
MAX_CASES = 10_000
MAX_LINE = 50_000
# The kind of the questions that no document answers: finding nothing is right.
NO_ANSWER = "no answer"
HALVES = ("development", "test")


class CaseError(ValueError):
    """A line of the file is no case; the message names the line."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and what answers it.

    Attributes:
        wordings: how the documents may put it, written by somebody who did not look.
        expected: a text of each passage that is needed. None are the right answer of the kind "no answer".
        half: "development" for choosing settings by, "test" for figures to report.
    """

    kind: str
    language: str
    question: str
    wordings: Sequence[str] = ()
    expected: Sequence[str] = ()
    half: str = "test"


@dataclass(slots=True)
class Figures:
    """What was measured of the cases of one kind.

    Attributes:
        first: cases whose passages all stand in the first places that they need.
        fifth: cases whose passages are all among the first five.
        reciprocal: the sum of 1 / the place of each case's first passage.
        refused: cases for which nothing was found.
        seconds: of each search.
    """

    cases: int = 0
    first: int = 0
    fifth: int = 0
    reciprocal: float = 0.0
    refused: int = 0
    seconds: list[float] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def mrr(self) -> float:
        return self.reciprocal / self.cases if self.cases else 0.0

    @property
    def median_milliseconds(self) -> float:
        return 1000 * statistics.median(self.seconds) if self.seconds else 0.0


def read_cases(lines: Iterable[str]) -> list[Case]:
    """Return the cases of a file with a JSON object in each line.

    Raises:
        CaseError: a line is none, or there are too many.
    """
    cases: list[Case] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if len(cases) == MAX_CASES:
            raise CaseError(f"The file has more than {MAX_CASES:,} cases.")
        cases.append(_case(number, line))
    return cases


def _case(number: int, line: str) -> Case:
    if len(line) > MAX_LINE:
        raise CaseError(f"Line {number} is longer than {MAX_LINE:,} characters.")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise CaseError(f"Line {number} is no JSON.") from exc
    if not isinstance(value, dict) or value.keys() - Case.__dataclass_fields__.keys():
        raise CaseError(f"Line {number} is no object with: {', '.join(Case.__dataclass_fields__)}.")
    texts = (value.get(name, "") for name in ("kind", "language", "question"))
    lists = (value.get(name, []) for name in ("wordings", "expected"))
    if not all(isinstance(text, str) and text for text in texts):
        raise CaseError(f"Line {number} needs a kind, a language and a question.")
    if not all(isinstance(one, list) and all(isinstance(text, str) for text in one) for one in lists):
        raise CaseError(f"Line {number} needs lists of texts as wordings and expected.")
    if (value["kind"] == NO_ANSWER) == bool(value.get("expected")):
        raise CaseError(f'Line {number}: what is expected is empty for the kind "{NO_ANSWER}" alone.')
    if value.get("half", "test") not in HALVES:
        raise CaseError(f"Line {number} belongs to no half of: {', '.join(HALVES)}.")
    return Case(**value)


def evaluate(
    cases: Iterable[Case], find: Callable[[Sequence[str]], Sequence[str]], *, with_wordings: bool
) -> dict[str, Figures]:
    """Search for each case, and return figures by kind.

    Args:
        find: returns the texts of the passages that are found for wordings, the best first.
        with_wordings: search with the wordings of the cases, else with their questions.
    """
    found: dict[str, Figures] = {}
    for case in cases:
        queries = case.wordings if with_wordings and case.wordings else [case.question]
        started = time.perf_counter()
        texts = find(queries)
        figures = found.setdefault(case.kind, Figures())
        figures.seconds.append(time.perf_counter() - started)
        figures.cases += 1
        figures.refused += not texts
        places = list(_places(case, texts))
        if places:
            figures.first += max(places) <= len(places)
            figures.fifth += max(places) <= 5
            figures.reciprocal += 1 / min(places)
        if places and max(places) > 5:
            figures.missed.append(case.question)
    return found


def _places(case: Case, texts: Sequence[str]) -> Iterator[float]:
    """Yield the place of each expected passage, counted from 1; infinity if it was not found."""
    shown = [" ".join(text.split()) for text in texts]
    for expected in case.expected:
        wanted = " ".join(expected.split())
        yield next((place for place, text in enumerate(shown, start=1) if wanted in text), float("inf"))
