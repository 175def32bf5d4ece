"""Finds what the documents say of some words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assistant.docs_site.documents import Document, Passage, contents

MAX_QUERY = 200
MAX_FOUND = 20
# Characters of an excerpt before and after the first word found.
AROUND = 60, 160
# What a word in a heading counts, beside one in the text.
IN_TITLE = 10


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that holds all words that were looked for; `excerpt` is its text as pieces, each found or not."""

    document: Document
    passage: Passage
    excerpt: tuple[tuple[str, bool], ...]


def search_manual(query: str) -> list[Found]:
    """The passages with all words of `query` in their text or headings, those that say most of them first."""
    words = list(dict.fromkeys(query[:MAX_QUERY].lower().split()))
    if not words:
        return []
    found = [(score, document, passage) for document, passage, score in _scored(words)]
    found.sort(key=lambda one: -one[0])
    return [Found(document, passage, _excerpt(passage, words)) for _, document, passage in found[:MAX_FOUND]]


def _scored(words: list[str]) -> Iterator[tuple[Document, Passage, int]]:
    for document in {document.slug: document for group in contents() for document in group.documents}.values():
        for passage in document.passages:
            title, text = passage.title.lower(), passage.text.lower()
            counts = [title.count(word) * IN_TITLE + text.count(word) for word in words]
            named = document.title.lower()
            if any(counts) and all(count or word in named for count, word in zip(counts, words, strict=True)):
                yield document, passage, sum(min(count, IN_TITLE * 2) for count in counts)


def _excerpt(passage: Passage, words: list[str]) -> tuple[tuple[str, bool], ...]:
    pattern = re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    lower = passage.text.lower()
    # Around the word that is said least: it is what somebody looks for among the others.
    rare = min((word for word in words if word in lower), key=lower.count, default="")
    start = max(0, lower.find(rare) - AROUND[0])
    end = min(len(passage.text), lower.find(rare) + AROUND[1])
    # Whole words, as far as there are any.
    start = passage.text.find(" ", start) + 1 if start else 0
    end = passage.text.rfind(" ", start, end) if end < len(passage.text) else end
    pieces, at, shown = [("… ", False)] if start else [], 0, passage.text[start:end]
    for match in pattern.finditer(shown):
        pieces += [(shown[at : match.start()], False), (match.group(), True)]
        at = match.end()
    pieces += [(shown[at:], False), (" …" if end < len(passage.text) else "", False)]
    return tuple((text, is_found) for text, is_found in pieces if text)
