"""Passages that a provider itself says an answer was taken from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assistant.toolkit.text import clean_text

# Of one answer, and characters of their fields.
MAX_CITATIONS = 20
MAX_NAME = 300
MAX_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer was taken from. All of it is untrusted text.

    Attributes:
        source_id: the address of a page, or the provider's id or the name of a file.
        source: its title.
        text: the passage where the provider gives it, else where it stands.
        page: counted from 1; None if it is not known.
    """

    source_id: str
    source: str
    text: str
    page: int | None = None


def citation(source_id: object, source: object, text: object = "", page: object = None) -> Citation | None:
    """Return a citation of a provider's fields, cleaned and bounded; None if they name no source."""
    texts = [clean_text(one)[:MAX_NAME] if isinstance(one, str) else "" for one in (source_id, source)]
    address, title = (one.strip() for one in texts)
    if not (address or title):
        return None
    passage = clean_text(text)[:MAX_TEXT].strip() if isinstance(text, str) else ""
    is_page = isinstance(page, int) and not isinstance(page, bool) and 0 < page < 1_000_000
    number = page if is_page and isinstance(page, int) else None
    return Citation(address or title, title or address, passage or address or title, number)


def bounded(citations: Iterable[Citation | None]) -> tuple[Citation, ...]:
    """Return citations, each once, at most `MAX_CITATIONS`."""
    known = dict.fromkeys(one for one in citations if one is not None)
    return tuple(list(known)[:MAX_CITATIONS])
