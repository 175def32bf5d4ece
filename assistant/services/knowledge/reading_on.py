"""The passages around one that a search has found."""

from __future__ import annotations

from assistant.models.knowledge import Passage
from assistant.services.knowledge.reach import Reach

# Passages before and after, in about 6,000 characters together.
BEFORE = 2
AFTER = 5


def passages_around(*, reach: Reach, document_id: int, position: int) -> list[Passage]:
    """Return a passage of a document with those around it, in their order; empty if none such is within reach.

    Args:
        position: the passage's, counted from 1.
    """
    rows = reach.passages().filter(document_id=document_id).defer("stems")
    found = list(rows.filter(position__range=(position - BEFORE, position + AFTER)).order_by("position"))
    return found if any(row.position == position for row in found) else []
