"""Which questions count as the same."""

from __future__ import annotations

import hashlib

from assistant.contrib.gaps.models import MAX_QUESTION
from assistant.services.knowledge.stems import language_of, stems


def shown_question(text: str) -> str:
    """Return a question as it is kept: in one line, and no longer than `MAX_QUESTION`."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUESTION else f"{line[: MAX_QUESTION - 1]}…"


def key_of(question: str) -> str:
    """Return a digest that questions of the same words in the same order share, whatever their case and marks."""
    words = " ".join(stems(question[:MAX_QUESTION], language_of(question)))
    return hashlib.sha256((words or question).encode()).hexdigest()
