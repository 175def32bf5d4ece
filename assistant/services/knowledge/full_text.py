"""Full-text search in a tenant's passages: FTS5 on SQLite, tsvector on PostgreSQL, with one ranking for both.

The databases only return which passages contain a word. Its rarity is computed within the tenant, because the engines'
own ranking uses all tenants' texts, so that one tenant's words would influence another's results.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import NotSupportedError, connection

from assistant.models.knowledge import Passage

MAX_WORDS = 12
# A match in a heading counts more: it says more about a passage than its text or the title of the whole document does.
WEIGHTS = {"title": 1.0, "heading": 1.5, "text": 1.0}
# Passages with less than this share of the best score are left out.
MIN_SCORE_SHARE = 0.3

_WORD = re.compile(r"[^\W_]+")
_POSTGRESQL_LABELS = {"title": "A", "heading": "B", "text": "C"}

# PostgreSQL's English stop words, and words that are common in questions.
_STOP_WORDS = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
its itself they them their theirs themselves what which who whom this that these those am is are was were be been
being have has had having do does did doing a an the and but if or because as until while of at by for with about
against between into through during before after above below to from up down in out on off over under again further
then once here there when where why how all any both each few more most other some such no nor not only own same so
than too very s t can will just don should now
d ll m o re ve y isn aren wasn weren hasn haven hadn doesn didn won wouldn couldn shouldn
get got gets getting give could would may might must shall also much many please tell know find want need
let us explain show something anything
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage and its score, which is comparable only within one search."""

    passage: Passage
    score: float


def search(*, tenant_id: int, query: str, limit: int) -> list[Hit]:
    """Return the tenant's passages that match the query best, the best first.

    A passage matches if it contains any word; rare words count most. All characters but letters and digits separate
    words, so that every query is valid.
    """
    words = _words(query)
    total = Passage.objects.filter(tenant_id=tenant_id).count()
    if not words or not total:
        return []
    scores = _scores(_matches(tenant_id, words), total)
    best = sorted(scores, key=lambda pk: (-scores[pk], pk))[:limit]
    best = [pk for pk in best if scores[pk] >= scores[best[0]] * MIN_SCORE_SHARE]
    rows = Passage.objects.filter(tenant_id=tenant_id).in_bulk(best)
    return [Hit(rows[pk], scores[pk]) for pk in best if pk in rows]


def remove_deleted() -> None:
    """Remove the words of deleted passages from the index. FTS5 only marks them until it merges its segments."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO assistant_passage_fts(assistant_passage_fts) VALUES ('optimize')")


def _words(query: str) -> list[str]:
    words = dict.fromkeys(word for word in _WORD.findall(query.lower()) if word not in STOP_WORDS)
    return list(words)[:MAX_WORDS]


def _scores(matches: Iterable[tuple[int, str, int]], total: int) -> dict[int, float]:
    """Score passages by a simplified BM25: each word's rarity times its column weights, which saturate."""
    strengths: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for word, column, pk in matches:
        strengths[word][pk] += WEIGHTS[column]
    scores: dict[int, float] = defaultdict(float)
    for passages in strengths.values():
        rarity = math.log(1 + (total - len(passages) + 0.5) / (len(passages) + 0.5))
        for pk, strength in passages.items():
            scores[pk] += rarity * strength / (strength + 1)
    return scores


def _matches(tenant_id: int, words: list[str]) -> list[tuple[int, str, int]]:
    """Return (index of the word, column, primary key of the passage) for each match in the tenant."""
    try:
        build = _CONDITIONS[connection.vendor]
    except KeyError:
        raise NotSupportedError(f"no full-text search on {connection.vendor}") from None
    parts: list[str] = []
    parameters: list[int | str] = []
    for index, word in enumerate(words):
        for column in WEIGHTS:
            condition, values = build(tenant_id, word, column)
            parts.append(f"SELECT {index}, '{column}', {condition}")
            parameters += values
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), parameters)
        return list(cursor.fetchall())


def _sqlite_condition(tenant_id: int, word: str, column: str) -> tuple[str, list[int | str]]:
    # A word consists of letters and digits only, so it cannot end the quotes.
    query = f'tenant_id : "{tenant_id}" AND {column} : "{word}"'
    return "rowid FROM assistant_passage_fts WHERE assistant_passage_fts MATCH %s", [query]


def _postgresql_condition(tenant_id: int, word: str, column: str) -> tuple[str, list[int | str]]:
    query = f"'{word}':{_POSTGRESQL_LABELS[column]}"
    condition = "tenant_id = %s AND search @@ to_tsquery('english', %s)"
    return f"id FROM assistant_passage WHERE {condition}", [tenant_id, query]


_CONDITIONS = {"sqlite": _sqlite_condition, "postgresql": _postgresql_condition}
