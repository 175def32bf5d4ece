"""Which passages of a tenant say nearly the same: equal ones that fill a search, and contradicting ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

# Passages that are compared with each other, and the rarest words by which pairs are looked for.
MAX_PASSAGES = 50_000
RARE_WORDS = 6
# A word that more passages have leads to no pair: the time would grow with the square of the number.
MAX_SHARING = 40
# The share of words that two passages need in common, and the words without which a passage says too little.
LIKE = 0.6
EQUAL = 0.9
LEAST_WORDS = 6
# Nearly equal passages that are a flood.
FLOOD = 5
MAX_PAIRS = 200_000
MAX_GROUPS_OF_A_HASH = 8
_MASKS = (0x00000000, 0x5BD1E995, 0xA54FF53A, 0x3C6EF372)
# Words that turn a sentence round.
_NEGATIONS = frozenset(
    {"not", "no", "never", "without", "nicht", "kein", "keine", "nie", "ohne", "nunca", "sin", "ne", "pas", "jamais"}
)


@dataclass(frozen=True, slots=True)
class Statement:
    """The words of a passage.

    Attributes:
        words: without figures and words that turn a sentence round.
        figures: the words with digits, and those that turn it round.
    """

    document_id: int
    position: int
    words: frozenset[str]
    figures: frozenset[str]


def statement_of(document_id: int, position: int, stems: Sequence[str]) -> Statement:
    """Return the words of a passage: those of its heading and text, by their stems."""
    every = frozenset(stems)
    figures = frozenset(word for word in every if word in _NEGATIONS or any(letter.isdecimal() for letter in word))
    return Statement(document_id, position, every - figures, figures)


def like_pairs(statements: Sequence[Statement], *, ignored: frozenset[str]) -> Iterator[tuple[Statement, Statement]]:
    """Yield pairs of passages whose words are mostly the same.

    Args:
        ignored: words that say nothing about the subject.
    """
    counts = Counter(word for one in statements for word in one.words)
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(statements):
        known = [word for word in one.words if 1 < counts[word] <= MAX_SHARING and word not in ignored]
        for word in sorted(known, key=lambda word: (counts[word], word))[:RARE_WORDS]:
            by_word[word].append(number)
    seen: set[tuple[int, int]] = set()
    for numbers in by_word.values():
        for first, second in combinations(numbers, 2):
            if len(seen) >= MAX_PAIRS:
                return
            if (first, second) in seen:
                continue
            seen.add((first, second))
            if _share(statements[first], statements[second]) >= LIKE:
                yield statements[first], statements[second]


def _share(first: Statement, second: Statement) -> float:
    if min(len(first.words), len(second.words)) < LEAST_WORDS:
        return 0.0
    return len(first.words & second.words) / len(first.words | second.words)


def contradicts(first: Statement, second: Statement) -> bool:
    """Return whether two passages of nearly the same words have other figures, or only one of them says no."""
    if first.figures <= second.figures or second.figures <= first.figures:
        only = first.figures ^ second.figures
        return bool(only) and only <= _NEGATIONS
    return True


def floods(statements: Sequence[Statement]) -> Iterator[list[Statement]]:
    """Yield groups of at least `FLOOD` passages that are nearly equal to one another, whatever their figures.

    Each is compared with the first ones of the groups that have its smallest hashes (MinHash), so that the time grows
    with the number of passages only.
    """
    groups: list[list[Statement]] = []
    by_hash: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for one in statements:
        if len(one.words) < LEAST_WORDS:
            continue
        hashes = [crc32(word.encode()) for word in one.words]
        keys = [(mask, min(value ^ mask for value in hashes)) for mask in _MASKS]
        near = dict.fromkeys(number for key in keys for number in by_hash[key])
        own = next((number for number in near if _share(groups[number][0], one) >= EQUAL), None)
        if own is not None:
            groups[own].append(one)
            continue
        for key in keys:
            if len(by_hash[key]) < MAX_GROUPS_OF_A_HASH:
                by_hash[key].append(len(groups))
        groups.append([one])
    yield from (group for group in groups if len(group) >= FLOOD)


def differing(first: Statement, second: Statement) -> tuple[Sequence[str], Sequence[str]]:
    """Return the figures that only one of two passages has, a few of each."""
    return sorted(first.figures - second.figures)[:5], sorted(second.figures - first.figures)[:5]
