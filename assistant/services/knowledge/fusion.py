"""Search by words and, where an optional app ranks passages, by meaning: which of both finds is the tenant's answer.

Likeness of meaning decides. Words lift passages with the very identifiers that were asked for, add the share of the
question's words that a passage has, and have a place of their own: what is best by words is never lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from assistant.services.knowledge.full_text import Hit, Score, best_first, hits_of, scores_of
from assistant.services.knowledge.rankings import Ranked, ranked
from assistant.services.knowledge.reach import Reach

# Passages that are taken from the nearest by meaning.
POOL = 100
# What the whole question in a passage's words is worth, in likeness. With 0.2, questions are lost that meaning finds.
COVERAGE_WEIGHT = 0.1
# The place that the passage which is best by words has of its own, if it has no earlier one.
OWN_PLACE = 5


@dataclass(frozen=True, slots=True)
class Fused:
    """What a search has found.

    Attributes:
        model: what ranked all wordings by meaning; "" if nothing did.
        likeness: of the best passage with the words it has, 1 if one has an identifier that was asked for; 0 without a
            model.
    """

    hits: Sequence[Hit]
    model: str = ""
    likeness: float = 0.0


def search_fused(*, reach: Reach, queries: Sequence[str], limit: int) -> Fused:
    """Return the passages within reach that fit several wordings best, the best first, without repeated texts."""
    near = ranked(reach=reach, queries=queries, limit=POOL)
    return fused(near, reach=reach, queries=queries, limit=limit)


def fused(near: Ranked | None, *, reach: Reach, queries: Sequence[str], limit: int) -> Fused:
    """Return the passages within reach that fit several wordings best, by words and what a ranking says of them."""
    scores = scores_of(reach=reach, queries=queries, also=near.likeness if near else ())
    if near is None or not near.likeness:
        return Fused(hits_of(reach=reach, order=best_first(scores), scores=scores, limit=limit))
    fits = fits_of(near, scores)
    order = fused_order(near, scores, fits)
    is_exact = any(one.identifiers for one in scores.values())
    likeness = 1.0 if is_exact else max(fits.values())
    hits = hits_of(reach=reach, order=order, scores=scores, limit=limit)
    return Fused(hits, near.model, likeness) if near.understands_all else Fused(hits)


def fits_of(near: Ranked, scores: Mapping[int, Score]) -> dict[int, float]:
    """Return likeness and the share of words together, by passage."""
    # A passage that is only found by its words is no nearer than the last of the nearest.
    least = min(near.likeness.values())
    return {pk: near.likeness.get(pk, least) + COVERAGE_WEIGHT * one.coverage for pk, one in scores.items()}


def fused_order(near: Ranked, scores: Mapping[int, Score], fits: Mapping[int, float]) -> list[int]:
    """Return passages in the order in which they are shown."""
    by_words = best_first(scores)
    exact = [pk for pk in scores if scores[pk].identifiers]
    exact.sort(key=lambda pk: (-scores[pk].identifiers, -fits[pk], pk))
    by_meaning = sorted(fits, key=lambda pk: (-fits[pk], pk))
    order = list(dict.fromkeys((*exact, *by_meaning)))
    if not near.understands_all:
        return _alternating(order, by_words)
    if by_words and by_words[0] not in order[:OWN_PLACE]:
        order.remove(by_words[0])
        order.insert(OWN_PLACE - 1, by_words[0])
    return order


def _alternating(first: Sequence[int], second: Sequence[int]) -> list[int]:
    pairs = zip_longest(first, second)
    return list(dict.fromkeys(pk for pk in chain.from_iterable(pairs) if pk is not None))
