"""Whether the passages that a search finds say anything about what was asked, judged without labels.

A passage that answers has much of a wording, counted by how rare its words are. How much is enough depends on the
tenant's documents: wordings about something else, searched in them too, give the lines.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from cachetools import TTLCache

from assistant.models.knowledge import Passage
from assistant.services.knowledge.full_text import Hit, languages_of_documents
from assistant.services.knowledge.fusion import Fused, search_fused

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
_DEFAULT_LANGUAGE = "en"


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


# By tenant, how many passages it has, their languages, and the model that ranks by meaning; "" is for words.
_kept: TTLCache[tuple[int, int, frozenset[str], str], Lines] = TTLCache(_MAX_KEPT, _KEPT_SECONDS)


def find(*, tenant_id: int, queries: Sequence[str], limit: int) -> Findings:
    """Return the passages that a search finds, and whether they say anything about what was asked.

    The first call for a tenant takes as long as some forty searches.
    """
    fused = search_fused(tenant_id=tenant_id, queries=queries, limit=limit)
    if not fused.hits:
        return Findings((), "none")
    measured = _measured(fused)
    lines = lines_of(tenant_id, fused.model)
    if measured < lines.lower:
        return Findings((), "none")
    return Findings(fused.hits, "weak" if measured < lines.upper else "good")


def lines_of(tenant_id: int, model: str = "") -> Lines:
    """Return a tenant's lines: what most wordings about something else stay below, and the most of one.

    Args:
        model: what ranks by meaning, whose lines they are; without it, of the shares of words.
    """
    languages = languages_of_documents(tenant_id)
    size = Passage.objects.filter(tenant_id=tenant_id).count().bit_length()
    key = (tenant_id, size, languages, model)
    lines = _kept.get(key)
    if lines is None:
        lines = _lines(tenant_id, languages, model)
        if lines is None:
            # The model cannot be asked just now: nothing is refused, and the lines are made by a later search.
            return Lines(0.0, 0.0)
        _kept[key] = lines
    return lines


def _lines(tenant_id: int, languages: frozenset[str], model: str) -> Lines | None:
    found = [
        search_fused(tenant_id=tenant_id, queries=queries, limit=5) for queries in _about_something_else(languages)
    ]
    if not model:
        measured = [_coverage(one) for one in found]
    else:
        # Wordings in languages that the model does not understand were searched by words.
        measured = [one.likeness for one in found if one.model == model]
        if len(measured) < _LEAST_MEASURED:
            return None
    tenths = _TENTHS_BY_MEANING if model else _TENTHS_BY_WORDS
    return Lines(min(statistics.quantiles(measured, n=10)[tenths - 1], max(measured)), max(measured))


def _measured(fused: Fused) -> float:
    """Return how near the best passage is: by meaning and words, or where nothing ranks by meaning by words alone."""
    return fused.likeness if fused.model else _coverage(fused)


def _coverage(fused: Fused) -> float:
    return max((hit.coverage for hit in fused.hits), default=0.0)


def _about_something_else(languages: frozenset[str]) -> list[list[str]]:
    """Return the wordings in these languages; the English ones if there are none."""
    every = _wordings()
    chosen = [language for language in sorted(languages) if language in every] or [_DEFAULT_LANGUAGE]
    return [queries for language in chosen for queries in every[language]]


@cache
def _wordings() -> dict[str, list[list[str]]]:
    wordings: dict[str, list[list[str]]] = json.loads(
        (Path(__file__).parent / "other_subjects.json").read_text("utf-8")
    )
    return wordings
