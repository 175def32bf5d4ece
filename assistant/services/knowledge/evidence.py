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
from assistant.services.knowledge.full_text import Hit, languages_of_documents, search

Evidence = Literal["none", "weak", "good"]
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


_kept: TTLCache[tuple[int, int, frozenset[str]], Lines] = TTLCache(_MAX_KEPT, _KEPT_SECONDS)


def find(*, tenant_id: int, queries: Sequence[str], limit: int) -> Findings:
    """Return the passages that `search` finds, and whether they say anything about what was asked.

    The first call for a tenant takes as long as some forty searches.
    """
    hits = search(tenant_id=tenant_id, queries=queries, limit=limit)
    if not hits:
        return Findings((), "none")
    best = max(hit.coverage for hit in hits)
    lines = lines_of(tenant_id)
    if best < lines.lower:
        return Findings((), "none")
    return Findings(hits, "weak" if best < lines.upper else "good")


def lines_of(tenant_id: int) -> Lines:
    """Return a tenant's lines: what seven of ten wordings about something else stay below, and the most of one."""
    languages = languages_of_documents(tenant_id)
    key = (tenant_id, Passage.objects.filter(tenant_id=tenant_id).count().bit_length(), languages)
    lines = _kept.get(key)
    if lines is None:
        shares = [_share(tenant_id, queries) for queries in _about_something_else(languages)]
        lines = _kept[key] = Lines(statistics.quantiles(shares, n=10)[6], max(shares))
    return lines


def _share(tenant_id: int, queries: Sequence[str]) -> float:
    return max((hit.coverage for hit in search(tenant_id=tenant_id, queries=queries, limit=5)), default=0.0)


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
