"""Collections as places of documents, for the core and other apps (`assistant.services.knowledge.places`)."""

from __future__ import annotations

from collections.abc import Collection as Some
from typing import Any

from django.db.models import Model

from assistant.contrib.collections.models import Collection
from assistant.contrib.collections.services.placing import place_documents
from assistant.models import Tenant
from assistant.services.knowledge.files import DocumentError
from assistant.services.knowledge.places import no_place
from assistant.services.tenancy.audit_trail import Actor


class Places:
    """A tenant's collections by their names."""

    def names(self, tenant: Model) -> list[str]:
        """Return the names of all collections of a tenant."""
        return list(Collection.objects.filter(tenant_id=tenant.pk).order_by("name").values_list("name", flat=True))

    def place(self, *, tenant: Model, document_ids: Some[int], name: str, actor: Actor, row: Any, makes: bool) -> None:
        """Put documents into the collection of a name, made for everybody if it `makes` one. Raises `DocumentError`."""
        collection = Collection.objects.filter(tenant_id=tenant.pk, name=name).first()
        if collection is None and makes:
            collection, _ = Collection.objects.get_or_create(tenant_id=tenant.pk, name=name)
        if collection is None:
            raise DocumentError(no_place(name))
        owner = Tenant.objects.get(pk=tenant.pk)
        place_documents(tenant=owner, document_ids=document_ids, collection=collection, actor=actor, row=row)


PLACES = Places()
