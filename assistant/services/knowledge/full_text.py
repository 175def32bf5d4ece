"""Finds a tenant's passages by words: FTS5 on SQLite, tsvector on PostgreSQL, and one ranking over both.

The databases only tell which passages hold a word. How rare it is gets counted within the tenant: the engines' own
ranking counts all tenants' texts, and so would let one tenant's words move another's results.
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
# A word in a heading says more about a passage than one in its text, and more than one in the whole document's title.
WEIGHTS = {"title": 1.0, "heading": 1.5, "text": 1.0}
# Passages that score less than this share of the best one are noise.
FLOOR = 0.3

_WORD = re.compile(r"[^\W_]+")
_POSTGRESQL_LABELS = {"title": "A", "heading": "B", "text": "C"}

# PostgreSQL's English stop words, and what people wrap a question in.
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
    """A passage found, and how well it fits: only comparable within one search."""

    passage: Passage
    score: float


def search(*, tenant_id: int, query: str, limit: int) -> list[Hit]:
    """The tenant's passages that fit the query best; any of its words may match, rare ones count most.

    Anything but letters and digits only parts words, so that no query is an error.
    """
    words = _words(query)
    total = Passage.objects.filter(tenant_id=tenant_id).count()
    if not words or not total:
        return []
    scores = _scores(_matches(tenant_id, words), total)
    best = sorted(scores, key=lambda pk: (-scores[pk], pk))[:limit]
    best = [pk for pk in best if scores[pk] >= scores[best[0]] * FLOOR]
    rows = Passage.objects.filter(tenant_id=tenant_id).in_bulk(best)
    return [Hit(rows[pk], scores[pk]) for pk in best if pk in rows]


def forget_deleted() -> None:
    """Take the words of deleted passages out of the index too: FTS5 only marks them, until it merges its parts."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO assistant_passage_fts(assistant_passage_fts) VALUES ('optimize')")


def _words(query: str) -> list[str]:
    words = dict.fromkeys(word for word in _WORD.findall(query.lower()) if word not in STOP_WORDS)
    return list(words)[:MAX_WORDS]


def _scores(matches: Iterable[tuple[int, str, int]], total: int) -> dict[int, float]:
    """BM25's idea without its counting: a word's rarity times where in the passage it stands, which saturates."""
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
    """Which passages of the tenant hold which word in which column: (word's index, column, passage's key)."""
    try:
        ask = _QUESTIONS[connection.vendor]
    except KeyError:
        raise NotSupportedError(f"no full-text search on {connection.vendor}") from None
    parts: list[str] = []
    parameters: list[int | str] = []
    for index, word in enumerate(words):
        for column in WEIGHTS:
            condition, values = ask(tenant_id, word, column)
            parts.append(f"SELECT {index}, '{column}', {condition}")
            parameters += values
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), parameters)
        return list(cursor.fetchall())


def _on_sqlite(tenant_id: int, word: str, column: str) -> tuple[str, list[int | str]]:
    # A word holds letters and digits only, so it cannot leave its quotes.
    query = f'tenant_id : "{tenant_id}" AND {column} : "{word}"'
    return "rowid FROM assistant_passage_fts WHERE assistant_passage_fts MATCH %s", [query]


def _on_postgresql(tenant_id: int, word: str, column: str) -> tuple[str, list[int | str]]:
    query = f"'{word}':{_POSTGRESQL_LABELS[column]}"
    condition = "tenant_id = %s AND search @@ to_tsquery('english', %s)"
    return f"id FROM assistant_passage WHERE {condition}", [tenant_id, query]


_QUESTIONS = {"sqlite": _on_sqlite, "postgresql": _on_postgresql}
