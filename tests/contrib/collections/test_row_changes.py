"""Documents that are older than the rows that they come from."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.contrib.collections.services.placing import place_documents
from assistant.models import Assistant, Document, Membership, Tenant
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.source_changes import older_than_source
from tests.base import Cast

pytestmark = pytest.mark.django_db


def of_row(tenant: Tenant, title: str, row: object) -> Document:
    collection, _ = Collection.objects.get_or_create(tenant=tenant, name="Rows")
    document = add_document(tenant=tenant, title=title, text="Text.")
    place_documents(tenant=tenant, document_ids=[document.pk], collection=collection, actor=None, row=row)
    return document


def outdated(tenant: Tenant) -> list[tuple[int, str]]:
    return [(one.document_id, one.source) for one in older_than_source(tenant.pk)]


def test_a_row_that_was_changed_later_makes_its_document_old(cast: Cast) -> None:
    rows = [Collection.objects.create(tenant=cast.acme, name=name) for name in ("a", "b")]
    old, new = (of_row(cast.acme, row.name, row) for row in rows)
    Document.objects.filter(pk=new.pk).update(updated_at=timezone.now() + timedelta(hours=1))
    Collection.objects.filter(pk__in=[row.pk for row in rows]).update(updated_at=timezone.now() + timedelta(minutes=1))
    assert outdated(cast.acme) == [(old.pk, f"assistant_collections.Collection {rows[0].pk}")]
    assert outdated(cast.globex) == []


def test_of_rows_without_a_moment_that_are_gone_or_no_rows_nothing_is_known(cast: Cast) -> None:
    of_row(cast.acme, "A membership", Membership.objects.get(tenant=cast.acme, user=cast.alice))
    gone = of_row(cast.acme, "Gone", Collection.objects.create(tenant=cast.acme, name="c"))
    CollectedDocument.objects.filter(document=gone).update(row_key="99999999")
    for number, (model, key) in enumerate((("x.Y", "1"), ("nonsense", "1"), (Assistant._meta.label, "no number"))):
        strange = of_row(cast.acme, f"Strange {number}", cast.support)
        CollectedDocument.objects.filter(document=strange).update(row_model=model, row_key=key)
    assert outdated(cast.acme) == []
