"""Which questions are alike: by the stems of their words, without those that say nothing. No model is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from assistant.services.knowledge.stems import language_of, stem, stop_words, words_of

# Words of a question that are compared, and questions of a group that a new one is compared with.
MAX_WORDS = 30
COMPARED = 20
# The share of common words from which two questions are alike, and from which one is about what a group is about:
# twice the common words by the words of both (Dice).
LIKE = 0.6
ABOUT = 0.5
# A word is what a group is about if so many of its questions have it.
CORE = 0.4


def topic_of(question: str) -> list[str]:
    """Return the stems of a question's words without stop words, each once; all of them if nothing else is left."""
    language = language_of(question)
    ignored = stop_words(language) if language else frozenset()
    words = list(words_of(question))
    said = [word for word in words if word not in ignored and len(word) > 1] or words
    return list(dict.fromkeys(stem(word, language) for word in said))[:MAX_WORDS]


def likeness(topic: Collection[str], topics: Sequence[Collection[str]]) -> float:
    """Return how alike a question is to a group, from 0 to 1; 0 where they are about different things.

    Args:
        topics: those of the newest questions of the group.
    """
    compared = topics[:COMPARED]
    nearest = max((_dice(topic, one) for one in compared), default=0.0)
    about = _dice(topic, _core(compared))
    best = max(nearest, about)
    return best if nearest >= LIKE or about > ABOUT else 0.0


def _core(topics: Sequence[Collection[str]]) -> list[str]:
    counts = Counter(word for one in topics for word in set(one))
    return [word for word, count in counts.items() if count >= CORE * len(topics)]


def _dice(first: Iterable[str], second: Iterable[str]) -> float:
    own = set(first)
    other = set(second)
    return 2 * len(own & other) / (len(own) + len(other)) if own and other else 0.0
