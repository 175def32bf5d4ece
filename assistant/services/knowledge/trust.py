"""Whether the text of a tenant's documents may instruct its assistants."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import models, transaction

from assistant.models import Document
from assistant.services.tenancy import audit_trail


def untrusted_documents(*, tenant_id: int, document_ids: Iterable[int]) -> frozenset[int]:
    """Return which of these documents mark a conversation that finds them.

    All but those that are marked as trusted; none if the tenant trusts all of its documents.
    """
    wanted = frozenset(document_ids)
    trusted = Document.objects.filter(
        models.Q(is_trusted=True) | models.Q(tenant__trusts_documents=True), tenant_id=tenant_id, pk__in=wanted
    )
    return wanted - set(trusted.values_list("pk", flat=True))


@transaction.atomic
def trust_documents(*, actor: audit_trail.Actor, documents: Iterable[Document], is_trusted: bool) -> int:
    """Declare documents as trusted or not, from the next search on; each change is audited.

    Args:
        documents: only those that the actor may change.

    Returns:
        How many were changed.
    """
    changed = [document for document in documents if document.is_trusted != is_trusted]
    for document in changed:
        Document.objects.filter(pk=document.pk, tenant_id=document.tenant_id).update(is_trusted=is_trusted)
        audit_trail.record(
            actor=actor,
            action="document.trust",
            target=document.title,
            tenant=document.tenant,
            details={"is_trusted": is_trusted},
        )
    return len(changed)
