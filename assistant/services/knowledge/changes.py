"""Changes and deletes stored documents for those who manage them. Each change is audited."""

from __future__ import annotations

from django.db import transaction

from assistant.models.knowledge import Document
from assistant.services.knowledge.documents import store_document
from assistant.services.tenancy import audit_trail


@transaction.atomic
def change_document(
    *, document: Document, actor: audit_trail.Actor, title: str | None = None, is_trusted: bool | None = None
) -> Document:
    """Give a document another title or trust; None leaves it as it is.

    Raises:
        DocumentError: the title cannot be stored, or is another document's.
    """
    before = (document.title, document.is_trusted)
    if title is not None:
        document.title = title
    if is_trusted is not None:
        document.is_trusted = is_trusted
    store_document(document=document)
    if before != (document.title, document.is_trusted):
        audit_trail.record(
            actor=actor,
            action="document.change",
            target=document.title,
            tenant=document.tenant,
            details={"title": [before[0], document.title], "is_trusted": [before[1], document.is_trusted]},
        )
    return document


@transaction.atomic
def delete_document(*, document: Document, actor: audit_trail.Actor) -> None:
    """Delete a document, which nobody finds from then on."""
    audit_trail.record(actor=actor, action="document.delete", target=document.title, tenant=document.tenant)
    document.delete()
