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
from typing import Any, NamedTuple

from django.db import NotSupportedError, connection

from assistant.models.knowledge import Passage
from assistant.services.knowledge.reach import Reach
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
# Passages with this share of their words in common are nearly equal; so many of them are shown, and so many times the
# wanted number is read to find others.
ALIKE = 0.85
MAX_ALIKE = 3
MAX_READ = 20
# Words that may be an identifier, and what makes them one beside a digit with a letter, as AB-1200 has.
_JOINED = re.compile(r"[^\W_]+(?:[-_./][^\W_]+)*")
_MARK_OF_IDENTIFIER = re.compile(r"_|\d{5}|[a-z][A-Z]")

# Takes the documents that are searched and the stems of a word, and returns SQL from FROM on, with its parameters.
_Condition = Callable[[Reach, frozenset[str]], tuple[str, list[Any]]]


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


def search(*, reach: Reach, queries: Sequence[str], limit: int) -> list[Hit]:
    """Return the passages within reach that match one of several wordings best, the best first.

    A passage matches if it contains any word of a wording; rare words count most. Its score is that of the wording that
    fits it best. Passages with a text that a better one has too are left out. All characters but letters and digits
    separate words, so that every query is valid.
    """
    scores = scores_of(reach=reach, queries=queries)
    return hits_of(reach=reach, order=best_first(scores), scores=scores, limit=limit)


def scores_of(*, reach: Reach, queries: Sequence[str], also: Collection[int] = ()) -> dict[int, Score]:
    """Return the scores of the passages that may be best for one of several wordings.

    Args:
        also: further passages whose scores are returned, as far as they are within reach.
    """
    if not reach.total:
        return {}
    return _scores(reach, _wordings(reach, queries), _identifiers(reach, queries), also)


def best_first(scores: Mapping[int, Score]) -> list[int]:
    """Return the passages whose words fit, the best first, without those far below the best."""
    least = MIN_SCORE_SHARE * max((one.score for one in scores.values()), default=0.0)
    having = (pk for pk, one in scores.items() if one.score and one.score >= least)
    return sorted(having, key=lambda pk: (-scores[pk].score, pk))


def hits_of(*, reach: Reach, order: Sequence[int], scores: Mapping[int, Score], limit: int) -> list[Hit]:
    """Return the first of the passages in an order, without those whose text an earlier one has too.

    Of passages that are nearly equal the first `MAX_ALIKE` are returned, so that a flood of them leaves places for
    others, and two that contradict each other are both seen.
    """
    found: list[Hit] = []
    shown: list[frozenset[str]] = []
    texts: set[str] = set()
    for at in range(0, min(len(order), MAX_READ * limit), 2 * limit):
        some = order[at : at + 2 * limit]
        rows = reach.passages().defer("stems").in_bulk(some)
        for row in (rows[pk] for pk in some if pk in rows):
            words = frozenset(words_of(row.text))
            if row.text in texts or sum(_are_alike(words, one) for one in shown) >= MAX_ALIKE:
                continue
            texts.add(row.text)
            shown.append(words)
            found.append(Hit(row, scores[row.pk].score, scores[row.pk].coverage))
            if len(found) == limit:
                return found
    return found


def _are_alike(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= ALIKE * len(words | others)


def remove_deleted() -> None:
    """Remove the words of deleted passages from the index. FTS5 only marks them until it merges its segments."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO assistant_passage_fts(assistant_passage_fts) VALUES ('optimize')")


def _wordings(reach: Reach, queries: Sequence[str]) -> list[list[Word]]:
    """Return the words of each wording, and how rare each is within reach."""
    wordings = [_stems_of(query, reach.languages) for query in queries]
    every = list(dict.fromkeys(one for wording in wordings for one in wording))
    counts = dict(zip(every, _counts(reach, every), strict=True))
    words = {one: Word(one, counts[one], _rarity(counts[one], reach.total)) for one in every}
    return [[words[one] for one in wording] for wording in wordings]


def _rarity(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _stems_of(query: str, languages: frozenset[str]) -> list[frozenset[str]]:
    """Return the stems of each word of a wording but stop words, one for each of the languages in which they differ."""
    told = [language for language in languages_of(query) if language in languages] or languages
    ignored = frozenset().union(*map(stop_words, told))
    words = (word for word in words_of(query) if word not in ignored)
    return list(dict.fromkeys(frozenset(stem(word, language) for language in languages) for word in words))[:MAX_WORDS]


def _identifiers(reach: Reach, queries: Sequence[str]) -> list[list[frozenset[str]]]:
    """Return the stems of the words of each identifier in the wordings."""
    found = dict.fromkeys(one for query in queries for one in _JOINED.findall(query) if _is_identifier(one))
    return [
        [frozenset(stem(word, language) for language in reach.languages) for word in words_of(one)]
        for one in list(found)[:MAX_WORDS]
    ]


def _is_identifier(joined: str) -> bool:
    """Return whether joined words name one thing: AB-1200, max_retries, getValue."""
    has_digit = any(letter.isdecimal() for letter in joined)
    has_letter = any(letter.isalpha() for letter in joined)
    return (has_digit and has_letter) or _MARK_OF_IDENTIFIER.search(joined) is not None


def _scores(
    reach: Reach,
    wordings: Sequence[Sequence[Word]],
    identifiers: Sequence[Sequence[frozenset[str]]],
    also: Collection[int],
) -> dict[int, Score]:
    """Return the scores of the passages that may be best for a wording, and of others."""
    scores: dict[int, Score] = {}
    for words in wordings:
        known = [word for word in words if word.count]
        candidates = {*also, *(_candidates(reach, known) if known else ())}
        rows = reach.passages().filter(pk__in=candidates).values_list("pk", "stems")
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


def _counts(reach: Reach, words: Sequence[frozenset[str]]) -> list[int]:
    """Return in how many of the passages each word is."""
    if not words:
        return []
    build = _condition()
    table, table_parameters = reach.table
    parts: list[str] = []
    parameters = [*table_parameters]
    for index, word in enumerate(words):
        source, values = build(reach, word)
        parts.append(f"SELECT {index}, COUNT(*) {source}")
        parameters += values
    with connection.cursor() as cursor:
        cursor.execute(table + " UNION ALL ".join(parts), parameters)
        counts = dict(cursor.fetchall())
    return [counts[index] for index in range(len(words))]


def _candidates(reach: Reach, words: Sequence[Word]) -> list[int]:
    """Return the passages whose words of these are the rarest together."""
    build = _condition()
    table, table_parameters = reach.table
    parts: list[str] = []
    parameters = [*table_parameters]
    for word in words:
        source, values = build(reach, word.stems)
        parts.append(f"SELECT {_ROWS[connection.vendor]} AS pk, {word.rarity:.6f} AS rarity {source}")
        parameters += values
    every = " UNION ALL ".join(parts)
    statement = f"SELECT pk FROM ({every}) AS found GROUP BY pk ORDER BY SUM(rarity) DESC, pk LIMIT {MAX_CANDIDATES}"  # noqa: S608 - figures and names of our own  # nosec B608
    with connection.cursor() as cursor:
        cursor.execute(table + statement, parameters)
        return [pk for (pk,) in cursor.fetchall()]


def _condition() -> _Condition:
    try:
        return _CONDITIONS[connection.vendor]
    except KeyError:
        raise NotSupportedError(f"no full-text search on {connection.vendor}") from None


def _sqlite_condition(reach: Reach, stems: frozenset[str]) -> tuple[str, list[Any]]:
    # A stem consists of letters and digits only, so it cannot end the quotes.
    any_of = " OR ".join(f'"{one}"' for one in sorted(stems))
    query = f'tenant_id : "{reach.tenant_id}" AND stems : ({any_of})'
    source = "FROM assistant_passage_fts WHERE assistant_passage_fts MATCH %s"
    if reach.is_narrowed:
        # The index has no documents; a passage is looked up only if it has the word.
        same = "id = assistant_passage_fts.rowid"
        source += f" AND EXISTS (SELECT 1 FROM assistant_passage WHERE {same}{reach.condition})"  # noqa: S608  # nosec B608
    return source, [query]


def _postgresql_condition(reach: Reach, stems: frozenset[str]) -> tuple[str, list[Any]]:
    query = " | ".join(f"'{one}'" for one in sorted(stems))
    source = "FROM assistant_passage WHERE tenant_id = %s AND search @@ %s::tsquery"
    return source + reach.condition, [reach.tenant_id, query]


_CONDITIONS = {"sqlite": _sqlite_condition, "postgresql": _postgresql_condition}
_ROWS = {"sqlite": "rowid", "postgresql": "id"}
