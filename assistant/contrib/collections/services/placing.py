"""Puts documents into collections, and takes them out. Each change is audited."""

from __future__ import annotations

from collections.abc import Collection as Some
from typing import Any, NamedTuple

from django.db import models, transaction
from django.utils import timezone

from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.models import Document, Tenant
from assistant.services.knowledge.files import DocumentError
from assistant.services.knowledge.places import KEEP_ROW
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor

# Documents of one call.
MAX_DOCUMENTS = 10_000
# A collection, and the model and key of a row, "" of none.
_Place = tuple[int, str, str]


class PlacingError(DocumentError):
    """Documents cannot be placed so, or a collection cannot be so; the message can be shown to people."""


class RowName(NamedTuple):
    """A row of the project by its model, as `app.Model`, and its primary key as text."""

    model: str
    key: str


@transaction.atomic
def place_documents(
    *, tenant: Tenant, document_ids: Some[int], collection: Collection | None, actor: Actor, row: Any = KEEP_ROW
) -> int:
    """Put documents of a tenant into a collection, out of any other; without one, all may read them.

    Args:
        row: a row of the project that the documents come from, or its `RowName`: only who may see it may read them.
            None: they come from none. Unless it is given, each stays with its row.

    Returns:
        How many were not there before.

    Raises:
        PlacingError: a document or the collection is not the tenant's, there are too many, or a row has no collection.
    """
    wanted = frozenset(document_ids)
    if len(wanted) > MAX_DOCUMENTS:
        raise PlacingError(f"These are more than {MAX_DOCUMENTS:,} documents.")
    if collection is not None and collection.tenant_id != tenant.pk:
        raise PlacingError("There is no such collection.")
    if collection is None and row is not KEEP_ROW and row is not None:
        raise PlacingError("A document that comes from a row needs a collection.")
    own = frozenset(Document.objects.filter(tenant=tenant, pk__in=wanted).values_list("pk", flat=True))
    if own != wanted:
        raise PlacingError("There is no such document.")
    entries = CollectedDocument.objects.filter(tenant=tenant, document__in=wanted).select_for_update()
    before = {entry.document_id: entry for entry in entries}
    places = {pk: _place(collection, row, before.get(pk)) for pk in sorted(wanted)}
    moved = {pk: place for pk, place in places.items() if place != _place_of(before.get(pk))}
    touched = {before[pk].collection_id for pk in moved if pk in before}
    CollectedDocument.objects.filter(tenant=tenant, document__in=moved).delete()
    if collection is not None:
        touched.add(collection.pk)
        CollectedDocument.objects.bulk_create(
            CollectedDocument(
                tenant=tenant, collection=collection, document_id=pk, row_model=place[1], row_key=place[2]
            )
            for pk, place in moved.items()
            if place is not None
        )
    if moved:
        Collection.objects.filter(tenant=tenant, pk__in=touched).update(updated_at=timezone.now())
        audit_trail.record(
            actor=actor,
            action="collection.place",
            target=collection.name if collection is not None else "",
            tenant=tenant,
            details={"documents": list(moved)[:100], "count": len(moved)},
        )
    return len(moved)


def _place(collection: models.Model | None, row: Any, before: CollectedDocument | None) -> _Place | None:
    if collection is None:
        return None
    if row is not KEEP_ROW:
        return (collection.pk, *_row_name(row))
    return (collection.pk, before.row_model, before.row_key) if before is not None else (collection.pk, "", "")


def _row_name(row: Any) -> tuple[str, str]:
    if row is None:
        return ("", "")
    return (row.model, row.key) if isinstance(row, RowName) else (row._meta.label, str(row.pk))


def _place_of(entry: CollectedDocument | None) -> _Place | None:
    return None if entry is None else (entry.collection_id, entry.row_model, entry.row_key)
