"""Which field of an object a date or a time is said of: "due on 13 March" is not said of the day that it was opened."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.units import words_of
from assistant.contrib.receipts.matching.values import Value

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark

# Characters before a value in which a word says what it is.
MAX_BEFORE = 30
MAX_MOMENTS = 200
_WORD_BEFORE = re.compile(r"\b([^\W\d_]{4,30})[ \u00a0]$")
_WORDS_BEHIND = re.compile(r"(?:[ \u00a0][^\W\d_]+){1,3}")
_BREAK = re.compile(r"[,;\n|]|[.!?](?=\s)|\b(?:and|und)\b", re.IGNORECASE)
# What is said, and words of the names of fields that hold it.
_FIELDS = {
    r"(?:over)?due|deadline|(?:über)?fällig": {"due", "deadline", "faellig", "fällig", "faelligkeit"},
    r"opened|created|reported|eröffnet|erstellt|gemeldet": {"opened", "created", "reported", "erstellt", "gemeldet"},
    r"placed|ordered|bestellt": {"placed", "ordered", "bestellt"},
    r"paid|bezahlt": {"paid", "bezahlt"},
    r"delivered|geliefert|zugestellt": {"delivered", "geliefert", "zugestellt"},
    r"expected|arriv(?:es?|ing)|erwartet": {"eta", "expected", "arrival", "arrives", "erwartet", "delivery"},
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
        said = self._said(value) if self._fields else None
        if said is None or said & set(words_of(fact.field)):
            return True
        source, path = _object(fact)
        while True:
            if any(said & set(words_of(field)) for field in self._fields.get((source, path), ())):
                return False
            if not path:
                return True
            path = path.rpartition(".")[0]

    def _said(self, value: Value) -> set[str] | None:
        """Return the words of fields of which the word right behind a value speaks, or the last before it."""
        behind = self._prose[value.end :][:MAX_BEFORE].lstrip(" \u00a0")
        right_behind = next((words for pattern, words in _CUES if pattern.match(behind)), None)
        if right_behind is not None:
            return right_behind
        start = max(0, value.start - MAX_BEFORE)
        before = _BREAK.split(self._prose[start : value.start])[-1]
        last: tuple[int, set[str] | None] = (-1, None)
        for pattern, words in _CUES:
            for found in pattern.finditer(before):
                if found.start() > last[0]:
                    last = (found.start(), words)
        return last[1]


def of_said_field(mark: Mark, said: SaidFields) -> Mark:
    """Take from a date or time the facts of fields that the words before it do not mean."""
    if mark.value.kind not in ("date", "time") or not mark.facts:
        return mark
    fitting = tuple(fact for fact in mark.facts if said.fits(mark.value, fact))
    return replace(mark, facts=fitting, reason="" if fitting else "not_found")


def of_field_before(mark: Mark, prose: str, facts: Facts) -> Mark:
    """Take from a small number what is not of the field before it: "floor 2" is not said of two bookings."""
    if not mark.value.is_small_count or not mark.facts:
        return mark
    before = _WORD_BEFORE.search(prose, max(0, mark.value.start - 32), mark.value.start)
    if before is None or before[1].casefold() not in facts.number_fields:
        return mark
    said = before[1].casefold()
    fitting = tuple(fact for fact in mark.facts if not fact.path or said in words_of(fact.field))
    return replace(mark, facts=fitting, reason="" if fitting else "not_found")


def of_field_behind(mark: Mark, prose: str, facts: Facts) -> Mark:
    """Take from a small number what its object has another field for, behind it: "7 are reserved" of 7 in stock."""
    if not mark.value.is_small_count or not mark.facts or not all(fact.path for fact in mark.facts):
        return mark
    behind = _WORDS_BEHIND.match(prose, mark.value.end)
    said = {_stem(word) for word in behind[0].casefold().split()} & facts.number_words if behind else set()
    if not said:
        return mark
    fitting = tuple(fact for fact in mark.facts if _is_of(said, fact) or not _has_other(said, fact, facts))
    return replace(mark, facts=fitting, reason="" if fitting else "not_found")


def _is_of(said: set[str], fact: Fact) -> bool:
    return bool(said & {_stem(word) for word in _counted_by(fact)})


def _has_other(said: set[str], fact: Fact, facts: Facts) -> bool:
    return any(_is_of(said, other) for other in facts.siblings.get(_object(fact), ()))


def _counted_by(fact: Fact) -> tuple[str, ...]:
    """Return the words of a fact's field, and of what is above it if it counts that: `requests.total`."""
    own = words_of(fact.field)
    if not {"count", "total", "found", "number"} & set(own):
        return own
    above = [part for part in fact.path.split(".")[:-1] if not part.isdigit()]
    return (*own, *words_of(above[-1])) if above else own


def _stem(word: str) -> str:
    return word.rstrip("s")


def _object(fact: Fact) -> tuple[int, str]:
    return fact.source, fact.path.rpartition(".")[0]
