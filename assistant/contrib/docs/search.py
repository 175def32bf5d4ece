"""Searches the documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assistant.contrib.docs.documents import Document, Passage, contents

MAX_QUERY = 200
MAX_HITS = 20
# Characters before and after the word that an excerpt shows.
EXCERPT_CHARACTERS = 60, 160
# A match in a heading counts as much as this many in the text.
TITLE_WEIGHT = 10


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage that has all words of a query. `excerpt`: pieces of its text, each with whether it matches a word."""

    document: Document
    passage: Passage
    excerpt: tuple[tuple[str, bool], ...]


def search_documents(query: str) -> list[SearchHit]:
    """Return the passages with all words of `query` in their text or headings, the best first."""
    words = list(dict.fromkeys(query[:MAX_QUERY].lower().split()))
    if not words:
        return []
    found = [(score, document, passage) for document, passage, score in _scored(words)]
    found.sort(key=lambda one: -one[0])
    return [SearchHit(document, passage, _excerpt(passage, words)) for _, document, passage in found[:MAX_HITS]]


def _scored(words: list[str]) -> Iterator[tuple[Document, Passage, int]]:
    for document in {document.slug: document for group in contents() for document in group.documents}.values():
        for passage in document.passages:
            title, text = passage.title.lower(), passage.text.lower()
            counts = [title.count(word) * TITLE_WEIGHT + text.count(word) for word in words]
            named = document.title.lower()
            if any(counts) and all(count or word in named for count, word in zip(counts, words, strict=True)):
                yield document, passage, sum(min(count, TITLE_WEIGHT * 2) for count in counts)


def _excerpt(passage: Passage, words: list[str]) -> tuple[tuple[str, bool], ...]:
    pattern = re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    lower = passage.text.lower()
    # Around the rarest word of the query, which is usually the most specific.
    rare = min((word for word in words if word in lower), key=lower.count, default="")
    start = max(0, lower.find(rare) - EXCERPT_CHARACTERS[0])
    end = min(len(passage.text), lower.find(rare) + EXCERPT_CHARACTERS[1])
    # Cut at spaces if possible.
    start = passage.text.find(" ", start) + 1 if start else 0
    end = passage.text.rfind(" ", start, end) if end < len(passage.text) else end
    pieces, at, shown = [("… ", False)] if start else [], 0, passage.text[start:end]
    for match in pattern.finditer(shown):
        pieces += [(shown[at : match.start()], False), (match.group(), True)]
        at = match.end()
    pieces += [(shown[at:], False), (" …" if end < len(passage.text) else "", False)]
    return tuple((text, is_found) for text, is_found in pieces if text)
