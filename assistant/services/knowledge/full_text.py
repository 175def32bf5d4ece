"""Full-text search in a tenant's passages: FTS5 on SQLite, tsvector on PostgreSQL, with one ranking for both.

Both index the same stems, which `stems` makes. The databases return which passages have most of a query's rare words;
how rare a word is, is counted within the tenant, because the engines' own ranking uses all tenants' texts, so that one
tenant's words would influence another's results.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import NotSupportedError, connection

from assistant.models.knowledge import Document, Passage
from assistant.services.knowledge.stems import languages_of, stem, stop_words, words_of

# Words of one wording that are searched, and passages that the database returns for each.
MAX_WORDS = 24
MAX_CANDIDATES = 100
# A match in a heading counts more: it says more about a passage than its text or the title of the whole document does.
TITLE_WEIGHT = 1.0
HEADING_WEIGHT = 1.5
TEXT_WEIGHT = 1.0
# Passages with less than this share of the best score are left out.
MIN_SCORE_SHARE = 0.3
# Words that may be an identifier, and what makes them one beside a digit with a letter, as AB-1200 has.
_JOINED = re.compile(r"[^\W_]+(?:[-_./][^\W_]+)*")
_MARK_OF_IDENTIFIER = re.compile(r"_|\d{5}|[a-z][A-Z]")
# The language of documents whose language could not be told.
_DEFAULT_LANGUAGE = "en"

# Takes a tenant and the stems of a word, and returns SQL from FROM on, with its parameters.
_Condition = Callable[[int, frozenset[str]], tuple[str, list[int | str]]]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search has found.

    Attributes:
        score: comparable only within one search.
        coverage: the share of its best wording's words that it has, by their rarity; 0 to 1.
    """

    passage: Passage
    score: float
    coverage: float


class Score(NamedTuple):
    """How well a passage fits the wording that it fits best.

    Attributes:
        score, coverage: as of a `Hit`.
        identifiers: how many identifiers of the wordings it has, such as AB-1200 and max_retries.
    """

    score: float = 0.0
    coverage: float = 0.0
    identifiers: int = 0


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a wording.

    Attributes:
        stems: in the languages of the tenant's documents.
        count: how many of the tenant's passages have it.
        rarity: the fewer, the greater.
    """

    stems: frozenset[str]
    count: int
    rarity: float


def search(*, tenant_id: int, queries: Sequence[str], limit: int) -> list[Hit]:
    """Return the tenant's passages that match one of several wordings best, the best first.

    A passage matches if it contains any word of a wording; rare words count most. Its score is that of the wording that
    fits it best. Passages with a text that a better one has too are left out. All characters but letters and digits
    separate words, so that every query is valid.
    """
    scores = scores_of(tenant_id=tenant_id, queries=queries)
    return hits_of(tenant_id=tenant_id, order=best_first(scores), scores=scores, limit=limit)


def scores_of(*, tenant_id: int, queries: Sequence[str], also: Collection[int] = ()) -> dict[int, Score]:
    """Return the scores of the passages that may be best for one of several wordings.

    Args:
        also: further passages of the tenant whose scores are returned, as far as there are such passages.
    """
    total = Passage.objects.filter(tenant_id=tenant_id).count()
    if not total:
        return {}
    return _scores(tenant_id, _wordings(tenant_id, queries, total), _identifiers(tenant_id, queries), also)


def best_first(scores: Mapping[int, Score]) -> list[int]:
    """Return the passages whose words fit, the best first, without those far below the best."""
    least = MIN_SCORE_SHARE * max((one.score for one in scores.values()), default=0.0)
    having = (pk for pk, one in scores.items() if one.score and one.score >= least)
    return sorted(having, key=lambda pk: (-scores[pk].score, pk))


def hits_of(*, tenant_id: int, order: Sequence[int], scores: Mapping[int, Score], limit: int) -> list[Hit]:
    """Return the first of the tenant's passages in an order, without those whose text an earlier one has too."""
    rows = Passage.objects.filter(tenant_id=tenant_id).defer("stems").in_bulk(order[: 2 * limit])
    found: dict[str, Hit] = {}
    for pk in order[: 2 * limit]:
        if pk in rows:
            found.setdefault(rows[pk].text, Hit(rows[pk], scores[pk].score, scores[pk].coverage))
    return list(found.values())[:limit]


def remove_deleted() -> None:
    """Remove the words of deleted passages from the index. FTS5 only marks them until it merges its segments."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO assistant_passage_fts(assistant_passage_fts) VALUES ('optimize')")


def _wordings(tenant_id: int, queries: Sequence[str], total: int) -> list[list[Word]]:
    """Return the words of each wording, and how rare each is in the tenant."""
    languages = languages_of_documents(tenant_id)
    wordings = [_stems_of(query, languages) for query in queries]
    every = list(dict.fromkeys(one for wording in wordings for one in wording))
    counts = dict(zip(every, _counts(tenant_id, every), strict=True))
    words = {
        one: Word(one, counts[one], math.log(1 + (total - counts[one] + 0.5) / (counts[one] + 0.5))) for one in every
    }
    return [[words[one] for one in wording] for wording in wordings]


def languages_of_documents(tenant_id: int) -> frozenset[str]:
    """Return the languages in which a tenant's documents are searched."""
    rows = Document.objects.filter(tenant_id=tenant_id).order_by().values_list("language", flat=True).distinct()
    return frozenset(language or _DEFAULT_LANGUAGE for language in rows)


def _stems_of(query: str, languages: frozenset[str]) -> list[frozenset[str]]:
    """Return the stems of each word of a wording but stop words, one for each of the languages in which they differ."""
    told = [language for language in languages_of(query) if language in languages] or languages
    ignored = frozenset().union(*map(stop_words, told))
    words = (word for word in words_of(query) if word not in ignored)
    return list(dict.fromkeys(frozenset(stem(word, language) for language in languages) for word in words))[:MAX_WORDS]


def _identifiers(tenant_id: int, queries: Sequence[str]) -> list[list[frozenset[str]]]:
    """Return the stems of the words of each identifier in the wordings."""
    found = dict.fromkeys(one for query in queries for one in _JOINED.findall(query) if _is_identifier(one))
    languages = languages_of_documents(tenant_id) if found else frozenset()
    return [
        [frozenset(stem(word, language) for language in languages) for word in words_of(one)]
        for one in list(found)[:MAX_WORDS]
    ]


def _is_identifier(joined: str) -> bool:
    """Return whether joined words name one thing: AB-1200, max_retries, getValue."""
    has_digit = any(letter.isdecimal() for letter in joined)
    has_letter = any(letter.isalpha() for letter in joined)
    return (has_digit and has_letter) or _MARK_OF_IDENTIFIER.search(joined) is not None


def _scores(
    tenant_id: int,
    wordings: Sequence[Sequence[Word]],
    identifiers: Sequence[Sequence[frozenset[str]]],
    also: Collection[int],
) -> dict[int, Score]:
    """Return the scores of the passages that may be best for a wording, and of others."""
    scores: dict[int, Score] = {}
    for words in wordings:
        known = [word for word in words if word.count]
        candidates = {*also, *(_candidates(tenant_id, known) if known else ())}
        rows = Passage.objects.filter(tenant_id=tenant_id, pk__in=candidates).values_list("pk", "stems")
        for pk, stems in rows:
            own = Score(_score(stems, known), _coverage(stems, words), _had(stems, identifiers))
            scores[pk] = max(scores.get(pk, Score()), own)
    return scores


def _had(stems: str, identifiers: Sequence[Sequence[frozenset[str]]]) -> int:
    """Return how many identifiers a passage has whole."""
    if not identifiers:
        return 0
    words = frozenset(stems.split())
    return sum(not any(words.isdisjoint(word) for word in one) for one in identifiers)


def _coverage(stems: str, words: Sequence[Word]) -> float:
    """Return the share of the words that a passage has, by their rarity; 0 without words, as of stop words only."""
    if not words:
        return 0.0
    had = frozenset(stems.split())
    return sum(word.rarity for word in words if not had.isdisjoint(word.stems)) / sum(word.rarity for word in words)


def _score(stems: str, words: Sequence[Word]) -> float:
    """Return a simplified BM25: each word's rarity times the weights of the places that have it, which saturate."""
    title, heading, text = (frozenset(line.split()) for line in stems.split("\n"))
    score = 0.0
    for word in words:
        strength = 0.0
        for place, weight in ((title, TITLE_WEIGHT), (heading, HEADING_WEIGHT), (text, TEXT_WEIGHT)):
            if not place.isdisjoint(word.stems):
                strength += weight
        score += word.rarity * strength / (strength + 1)
    return score


def _counts(tenant_id: int, words: Sequence[frozenset[str]]) -> list[int]:
    """Return in how many of the tenant's passages each word is."""
    if not words:
        return []
    build = _condition()
    parts: list[str] = []
    parameters: list[int | str] = []
    for index, word in enumerate(words):
        source, values = build(tenant_id, word)
        parts.append(f"SELECT {index}, COUNT(*) {source}")
        parameters += values
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), parameters)
        counts = dict(cursor.fetchall())
    return [counts[index] for index in range(len(words))]


def _candidates(tenant_id: int, words: Sequence[Word]) -> list[int]:
    """Return the passages whose words of these are the rarest together."""
    build = _condition()
    parts: list[str] = []
    parameters: list[int | str] = []
    for word in words:
        source, values = build(tenant_id, word.stems)
        parts.append(f"SELECT {_ROWS[connection.vendor]} AS pk, {word.rarity:.6f} AS rarity {source}")
        parameters += values
    every = " UNION ALL ".join(parts)
    statement = f"SELECT pk FROM ({every}) AS found GROUP BY pk ORDER BY SUM(rarity) DESC, pk LIMIT {MAX_CANDIDATES}"  # noqa: S608 - figures and names of our own  # nosec B608
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [pk for (pk,) in cursor.fetchall()]


def _condition() -> _Condition:
    try:
        return _CONDITIONS[connection.vendor]
    except KeyError:
        raise NotSupportedError(f"no full-text search on {connection.vendor}") from None


def _sqlite_condition(tenant_id: int, stems: frozenset[str]) -> tuple[str, list[int | str]]:
    # A stem consists of letters and digits only, so it cannot end the quotes.
    any_of = " OR ".join(f'"{one}"' for one in sorted(stems))
    query = f'tenant_id : "{tenant_id}" AND stems : ({any_of})'
    return "FROM assistant_passage_fts WHERE assistant_passage_fts MATCH %s", [query]


def _postgresql_condition(tenant_id: int, stems: frozenset[str]) -> tuple[str, list[int | str]]:
    query = " | ".join(f"'{one}'" for one in sorted(stems))
    return "FROM assistant_passage WHERE tenant_id = %s AND search @@ %s::tsquery", [tenant_id, query]


_CONDITIONS = {"sqlite": _sqlite_condition, "postgresql": _postgresql_condition}
_ROWS = {"sqlite": "rowid", "postgresql": "id"}
