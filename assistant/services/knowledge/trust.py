"""Whether the text of a tenant's documents may instruct its assistants."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import models

from assistant.models import Document


def untrusted_documents(*, tenant_id: int, document_ids: Iterable[int]) -> frozenset[int]:
    """Return which of these documents mark a conversation that finds them.

    All but those that are marked as trusted; none if the tenant trusts all of its documents.
    """
    wanted = frozenset(document_ids)
    trusted = Document.objects.filter(
        models.Q(is_trusted=True) | models.Q(tenant__trusts_documents=True), tenant_id=tenant_id, pk__in=wanted
    )
    return wanted - set(trusted.values_list("pk", flat=True))
