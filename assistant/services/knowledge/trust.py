"""Whether the text of a tenant's documents may instruct its assistants."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol, cast

from django.db import models
from django.utils.module_loading import import_string

from assistant.models import Document


class DoubtSource(Protocol):
    """Knows documents that are not to be trusted whatever they are declared, in a thread without an event loop."""

    def __call__(self, *, tenant_id: int, document_ids: Collection[int]) -> frozenset[int]:
        """Return those of some documents of a tenant."""
        ...


_doubts: str | None = None


def doubt_with(source: str | None) -> None:
    """Have documents of which something is doubtful mark conversations, trusted ones too.

    Args:
        source: the dotted name of a `DoubtSource`, which is imported with the first search; None ends it.
    """
    global _doubts  # noqa: PLW0603 - of the whole process
    _doubts = source


def untrusted_documents(*, tenant_id: int, document_ids: Iterable[int]) -> frozenset[int]:
    """Return which of these documents mark a conversation that finds them.

    All but those that are marked as trusted; none if the tenant trusts all of its documents. Those that are doubtful do
    in any case.
    """
    wanted = frozenset(document_ids)
    rows = Document.objects.filter(
        models.Q(is_trusted=True) | models.Q(tenant__trusts_documents=True), tenant_id=tenant_id, pk__in=wanted
    )
    trusted = frozenset(rows.values_list("pk", flat=True))
    if trusted and _doubts is not None:
        trusted -= cast(DoubtSource, import_string(_doubts))(tenant_id=tenant_id, document_ids=trusted)
    return wanted - trusted
