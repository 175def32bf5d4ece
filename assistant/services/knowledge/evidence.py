"""Whether the passages that a search finds say anything about what was asked.

A passage that answers has much of a wording, counted by how rare its words are. How much is enough depends on the
tenant's documents: wordings about something else, searched in them too, give the lines. Where a tenant has labelled
questions, these give the lines instead.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Literal

from cachetools import TTLCache

from assistant.services.knowledge.full_text import Hit, search
from assistant.services.knowledge.fusion import POOL, Fused, fused, search_fused
from assistant.services.knowledge.labels import LEAST, Labelled, labels_of
from assistant.services.knowledge.rankings import ranked_each
from assistant.services.knowledge.reach import DEFAULT_LANGUAGE, Reach

Evidence = Literal["none", "weak", "good"]
# How many tenths of the wordings about something else stay below the lower line, by words and by meaning: many of them
# share a common word with some passage, and few are near to one in meaning.
_TENTHS_BY_WORDS = 7
_TENTHS_BY_MEANING = 9
# So many wordings must be measured by meaning; fewer are if the model failed in between.
_LEAST_MEASURED = 10
# Lines are kept for a day, or until a tenant has twice or half as many passages, or documents in more languages.
_KEPT_SECONDS = 86_400
_MAX_KEPT = 1_000
# So long lines are not tried again, if the model could not be asked.
_FAILED_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Lines:
    """Shares of a wording: below `lower` no passage says anything about it, below `upper` one may not."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search has found; nothing if the evidence is "none"."""

    hits: Sequence[Hit]
    evidence: Evidence


# A tenant, what of it may be read, how many passages that has, their languages, the model that ranks by meaning, "" for
# words, and the tenant's labels.
_Key = tuple[int, str, int, frozenset[str], str, tuple[Labelled, ...]]
# Where there are no lines, nothing is refused.
_NO_LINES = Lines(0.0, 0.0)
_kept: TTLCache[_Key, Lines] = TTLCache(_MAX_KEPT, _KEPT_SECONDS)
_failed: TTLCache[_Key, Lines] = TTLCache(_MAX_KEPT, _FAILED_SECONDS)
_being_drawn: set[_Key] = set()
_lock = Lock()


def find(*, reach: Reach, queries: Sequence[str], limit: int) -> Findings:
    """Return the passages that a search finds, and whether they say anything about what was asked.

    The first call for those who may read the same takes as long as some forty searches, but asks what ranks by meaning
    only once more.
    """
    found = search_fused(reach=reach, queries=queries, limit=limit)
    if not found.hits:
        return Findings((), "none")
    measured = _measured(found)
    lines = lines_of(reach.permitted, found.model)
    if measured < lines.lower:
        return Findings((), "none")
    return Findings(found.hits, "weak" if measured < lines.upper else "good")


def lines_of(reach: Reach, model: str = "") -> Lines:
    """Return the lines of some documents: what most wordings about something else stay below, and the most of one.

    With labels of the tenant the lower line is where questions that documents answer and those that they do not part,
    and the upper one the most of one that they do not answer.

    While another thread draws them, and for a minute after the model could not be asked, they refuse nothing.

    Args:
        model: what ranks by meaning, whose lines they are; without it, of the shares of words.
    """
    labels = labels_of(reach.tenant_id)
    key = (reach.tenant_id, reach.name, reach.total.bit_length(), reach.languages, model, labels)
    with _lock:
        known = _kept.get(key) or _failed.get(key)
        if known is not None:
            return known
        if key in _being_drawn:
            # A model that answers slowly would hold one thread after the other.
            return _NO_LINES
        _being_drawn.add(key)
    try:
        lines = _lines(reach, model, labels)
        with _lock:
            if lines is None:
                _failed[key] = _NO_LINES
            else:
                _kept[key] = lines
        return lines or _NO_LINES
    finally:
        with _lock:
            _being_drawn.discard(key)


def _lines(reach: Reach, model: str, labels: Sequence[Labelled]) -> Lines | None:
    if labels and (sharpened := _sharpened(reach, model, labels)) is not None:
        return sharpened
    tenths = _TENTHS_BY_MEANING if model else _TENTHS_BY_WORDS
    measured = _each(reach, _about_something_else(reach.languages), model)
    if model and len(measured) < _LEAST_MEASURED:
        return None
    return Lines(min(statistics.quantiles(measured, n=10)[tenths - 1], max(measured)), max(measured))


def _sharpened(reach: Reach, model: str, labels: Sequence[Labelled]) -> Lines | None:
    """Return the lines by labelled questions; None if too few can be measured, or they do not part.

    The lower line is as many standard deviations below the mean of one kind as it is above that of the other.
    """
    readable = reach.readable([one.document_id for one in labels if one.document_id is not None])
    answered = _each(reach, [one.queries for one in labels if one.document_id in readable], model)
    unanswered = _each(reach, [one.queries for one in labels if one.document_id is None], model)
    if min(len(answered), len(unanswered)) < LEAST:
        return None
    high = statistics.NormalDist.from_samples(answered)
    low = statistics.NormalDist.from_samples(unanswered)
    if high.mean <= low.mean:
        return None
    spread = high.stdev + low.stdev
    lower = (low.mean * high.stdev + high.mean * low.stdev) / spread if spread else (low.mean + high.mean) / 2
    return Lines(lower, max(lower, *unanswered))


def _each(reach: Reach, questions: Sequence[Sequence[str]], model: str) -> list[float]:
    """Return what is measured of some questions: by meaning of those that the model understands, else by words."""
    return _by_meaning(reach, questions, model) if model else _by_words(reach, questions)


def _by_words(reach: Reach, questions: Sequence[Sequence[str]]) -> list[float]:
    return [_coverage(search(reach=reach, queries=queries, limit=5)) for queries in questions]


def _by_meaning(reach: Reach, questions: Sequence[Sequence[str]], model: str) -> list[float]:
    """Return how near the best passages are; nothing of questions in languages that the model does not understand."""
    found = [
        fused(near, reach=reach, queries=queries, limit=1)
        for queries, near in zip(questions, ranked_each(reach=reach, questions=questions, limit=POOL), strict=True)
        if near is not None
    ]
    return [one.likeness for one in found if one.model == model]


def _measured(found: Fused) -> float:
    """Return how near the best passage is: by meaning and words, or where nothing ranks by meaning by words alone."""
    return found.likeness if found.model else _coverage(found.hits)


def _coverage(hits: Sequence[Hit]) -> float:
    return max((hit.coverage for hit in hits), default=0.0)


def _about_something_else(languages: frozenset[str]) -> list[list[str]]:
    """Return the wordings in these languages; the English ones if there are none."""
    every = _wordings()
    chosen = [language for language in sorted(languages) if language in every] or [DEFAULT_LANGUAGE]
    return [queries for language in chosen for queries in every[language]]


@cache
def _wordings() -> dict[str, list[list[str]]]:
    wordings: dict[str, list[list[str]]] = json.loads(
        (Path(__file__).parent / "other_subjects.json").read_text("utf-8")
    )
    return wordings
