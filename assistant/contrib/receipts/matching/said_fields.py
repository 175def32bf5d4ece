"""Which field of an object a date or a time is said of: "due on 13 March" is not said of the day that it was opened."""

from __future__ import annotations

import re
from collections import defaultdict

from assistant.contrib.receipts.matching.facts import Fact, Facts
from assistant.contrib.receipts.matching.units import words_of
from assistant.contrib.receipts.matching.values import Value

# Characters before a value in which a word says what it is.
MAX_BEFORE = 30
MAX_MOMENTS = 200
_BREAK = re.compile(r"[;\n|]|[.!?](?=\s)")
# What is said, and words of the names of fields that hold it.
_FIELDS = {
    r"(?:over)?due|deadline|(?:über)?fällig": {"due", "deadline", "faellig", "fällig", "faelligkeit"},
    r"opened|created|reported|eröffnet|erstellt|gemeldet": {"opened", "created", "reported", "erstellt", "gemeldet"},
    r"placed|ordered|bestellt": {"placed", "ordered", "bestellt"},
    r"paid|bezahlt": {"paid", "bezahlt"},
    r"delivered|geliefert|zugestellt": {"delivered", "geliefert", "zugestellt"},
    r"starts?|begins?|beginnt": {"start", "starts", "begin", "begins", "beginn"},
    r"ends?|endet": {"end", "ends", "ende"},
}
_CUES = [(re.compile(rf"\b(?:{said})\b", re.IGNORECASE), words) for said, words in _FIELDS.items()]


class SaidFields:
    """What the words around dates and times of one answer say that they are.

    Args:
        prose: of the answer.
    """

    def __init__(self, prose: str, facts: Facts) -> None:
        self._prose = prose
        self._fields: dict[tuple[int, str], set[str]] = defaultdict(set)
        for _moment, fact in facts.moments[:MAX_MOMENTS]:
            self._fields[_object(fact)].add(fact.field)

    def fits(self, value: Value, fact: Fact) -> bool:
        """Return whether a moment may be meant: not if the words name another one that its object has."""
        said = self._said(value) if len(self._fields.get(_object(fact), ())) > 1 else None
        if said is None or said & set(words_of(fact.field)):
            return True
        return not any(said & set(words_of(field)) for field in self._fields[_object(fact)])

    def _said(self, value: Value) -> set[str] | None:
        """Return the words of fields of which the last word before a value speaks, or the one right behind it."""
        start = max(0, value.start - MAX_BEFORE)
        before = _BREAK.split(self._prose[start : value.start])[-1]
        last = (-1, None)
        for pattern, words in _CUES:
            for found in pattern.finditer(before):
                if found.start() > last[0]:
                    last = (found.start(), words)
        if last[1] is not None:
            return last[1]
        behind = self._prose[value.end :].lstrip(" \u00a0") if value.kind == "number" else ""
        return next((words for pattern, words in _CUES if pattern.match(behind)), None)


def _object(fact: Fact) -> tuple[int, str]:
    return fact.source, fact.path.rpartition(".")[0]
