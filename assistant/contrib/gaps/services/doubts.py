"""Doubts about documents: which there are, and that somebody has settled one."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from assistant.contrib.gaps.models import DocumentDoubt
from assistant.models import Tenant
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor

# What makes a document untrusted. One that contradicts another or is old may still be right.
OF_POISON = (
    DocumentDoubt.Kind.HIDDEN,
    DocumentDoubt.Kind.INSTRUCTIONS,
    DocumentDoubt.Kind.LOOKALIKE,
    DocumentDoubt.Kind.FLOOD,
)


def doubted_documents(*, tenant_id: int, document_ids: Collection[int]) -> frozenset[int]:
    """Return those of some documents that may be poisoned, and that nobody has settled."""
    rows = DocumentDoubt.objects.filter(
        tenant_id=tenant_id, document__in=document_ids, kind__in=OF_POISON, is_settled=False
    )
    return frozenset(rows.values_list("document_id", flat=True))


@transaction.atomic
def settle_doubt(*, tenant: Tenant, doubt_id: int, actor: Actor) -> bool:
    """Say that a document is as it should be, while its text is the same; return whether there was such a doubt."""
    rows = DocumentDoubt.objects.filter(tenant=tenant, pk=doubt_id, is_settled=False)
    doubt = rows.select_related("document").first()
    if doubt is None:
        return False
    DocumentDoubt.objects.filter(tenant=tenant, pk=doubt.pk).update(is_settled=True)
    audit_trail.record(
        actor=actor,
        action="documentdoubt.settle",
        target=doubt.document.title,
        tenant=tenant,
        details={"kind": doubt.kind, "detail": doubt.detail},
    )
    return True
