"""Declares documents as trusted, or not, on the page of documents."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from assistant.models import Document
from assistant.services.tenancy import audit_trail


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
