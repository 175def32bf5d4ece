"""The passages around one that a search has found."""

from __future__ import annotations

from assistant.models.knowledge import Passage

# Passages before and after, in about 6,000 characters together.
BEFORE = 2
AFTER = 5


def passages_around(*, tenant_id: int, document_id: int, position: int) -> list[Passage]:
    """Return a passage of a tenant's document with those around it, in their order; empty if there is no such passage.

    Args:
        position: the passage's, counted from 1.
    """
    rows = Passage.objects.filter(tenant_id=tenant_id, document_id=document_id).defer("stems")
    found = list(rows.filter(position__range=(position - BEFORE, position + AFTER)).order_by("position"))
    return found if any(row.position == position for row in found) else []
