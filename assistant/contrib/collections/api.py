"""A tenant's collections in the REST API: who may read each, and what is in it, for its admins and owners."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db.models import Count, Exists, OuterRef, QuerySet
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import TenantView, idempotent, validated, validated_query
from assistant.api.documents import DocumentPage, DocumentQuery, page_of, require_admin, rows_of
from assistant.api.fields import SAYING, Flag, OneOf, Text, Whole
from assistant.api.openapi import POSITIVE_INTEGER, describe_parameter, operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.contrib.collections.services.managing import (
    MAX_COLLECTIONS,
    change_collection,
    delete_collection,
    make_collection,
)
from assistant.contrib.collections.services.placing import PlacingError, RowName, place_documents
from assistant.models import Membership, Tenant
from assistant.services.knowledge.places import KEEP_ROW
from assistant.services.tenancy.audit_trail import actor_of
from assistant.services.text import INTEGERS

TAG = "collections"
# Documents and assistants that one request names.
MAX_PLACED = 1_000
MAX_ASSISTANTS = 100
GIVEN = {
    "name": "Contracts",
    "description": "Agreements with suppliers.",
    "roles": ["admin", "owner"],
    "permission": "",
    "for_chosen_assistants": True,
    "assistants": ["legal"],
}
COLLECTION = {
    "id": 4,
    **GIVEN,
    "document_count": 17,
    "created_at": "2026-11-21T09:30:00Z",
    "updated_at": "2026-11-21T09:30:00Z",
}
DOCUMENT = {
    "id": 9,
    "title": "Frame contract",
    "kind": "markdown",
    "language": "en",
    "filename": "frame.md",
    "is_trusted": False,
    "characters": 1840,
    "created_at": "2026-11-21T09:30:00Z",
    "updated_at": "2026-11-21T09:30:00Z",
}
describe_parameter("collection", "The collection's id.", example=4, schema=POSITIVE_INTEGER)


class CollectionOut(ApiSerializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    description = serializers.CharField()
    roles = serializers.ListField(child=serializers.CharField(), help_text="Who asks has one of these. Empty: any.")
    permission = serializers.CharField(help_text="Who asks has this permission of Django. Empty: none is needed.")
    for_chosen_assistants = serializers.BooleanField(help_text="It is read through its assistants alone.")
    assistants = serializers.SerializerMethodField(help_text="The slugs of the assistants that it is read through.")
    document_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_assistants(self, row: Collection) -> list[str]:
        return sorted(one.slug for one in row.assistants.all())


class CollectionChange(ApiSerializer):
    name = Text(required=False, max_length=100, pattern=SAYING)
    description = Text(required=False, allow_blank=True, max_length=300)
    roles = serializers.ListField(
        required=False,
        child=OneOf(choices=Membership.Role.values),
        max_length=len(Membership.Role.values),
        help_text="Who asks has one of these roles in the tenant. Empty: any.",
    )
    permission = Text(
        required=False, allow_blank=True, max_length=201, help_text="Of Django, as app.codename. Empty: none is needed."
    )
    for_chosen_assistants = Flag(
        required=False, help_text="True with no assistants: nobody reads it. Holds where any is chosen."
    )
    assistants = serializers.ListField(
        required=False, child=Text(max_length=63), max_length=MAX_ASSISTANTS, help_text="Slugs. Empty: all of them."
    )


class CollectionIn(CollectionChange):
    name = Text(max_length=100, pattern=SAYING)


class RowIn(ApiSerializer):
    """A row of the project that documents come from: only who may see it may read them."""

    model = Text(max_length=200, pattern=r"^[A-Za-z_]+[.][A-Za-z_]+$", help_text="As `app.Model`.")
    key = Text(max_length=200, help_text="Its primary key.")


class PlacingIn(ApiSerializer):
    documents = serializers.ListField(
        child=Whole(min_value=1, max_value=INTEGERS.stop - 1), min_length=1, max_length=MAX_PLACED
    )
    row = RowIn(
        required=False,
        allow_null=True,
        help_text="The row that they come from; null for none. Left out: each stays with its row.",
    )


class PlacedOut(ApiSerializer):
    placed = serializers.IntegerField(help_text="How many were not there before.")


class CollectionView(TenantView):
    """A view of one collection."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        require_admin(self.member)

    def rows(self) -> QuerySet[Collection]:
        """Return the tenant's collections with what `CollectionOut` shows."""
        rows = Collection.objects.filter(tenant_id=self.member.tenant_id).prefetch_related("assistants")
        return rows.annotate(document_count=Count("entries", distinct=True)).order_by("name")

    def own(self, collection: int) -> Collection:
        """Return a collection of the tenant. Raises `HttpRefusal` (404) for any other."""
        row = self.rows().filter(pk=collection).first() if collection in INTEGERS else None
        if row is None:
            raise not_found()
        return row


def _refusal(exc: PlacingError) -> HttpRefusal:
    return HttpRefusal(400, "invalid_input", str(exc))


class Collections(CollectionView):
    """The collections of a tenant."""

    @operation(
        "List collections",
        responses={200: (CollectionOut(many=True), [COLLECTION])},
        tag=TAG,
        description=f"All of the tenant's, by name, for its admins and owners; {MAX_COLLECTIONS} at most.",
    )
    def get(self, request: Request) -> Response:
        return Response(CollectionOut(self.rows()[:MAX_COLLECTIONS], many=True).data)

    @operation(
        "Create a collection",
        body=CollectionIn,
        example=GIVEN,
        responses={201: (CollectionOut, COLLECTION)},
        tag=TAG,
        is_idempotent=True,
        description="Who reads it meets all of its conditions; one without any is for everybody in the tenant.",
    )
    @idempotent
    def post(self, request: Request) -> Response:
        values = validated(CollectionIn, request.data)
        assistants = values.pop("assistants", [])
        tenant = Tenant.objects.get(pk=self.member.tenant_id)
        try:
            row = make_collection(tenant=tenant, actor=actor_of(self.member), values=values, assistants=assistants)
        except PlacingError as exc:
            raise _refusal(exc) from exc
        return Response(CollectionOut(self.own(row.pk)).data, status=201)


class OneCollection(CollectionView):
    """One collection."""

    @operation("Read a collection", path=["collection"], responses={200: (CollectionOut, COLLECTION)}, tag=TAG)
    def get(self, request: Request, collection: int) -> Response:
        return Response(CollectionOut(self.own(collection)).data)

    @operation(
        "Change a collection",
        path=["collection"],
        body=CollectionChange,
        example={"roles": ["owner"]},
        responses={200: (CollectionOut, {**COLLECTION, "roles": ["owner"]})},
        tag=TAG,
        description="Holds for the next search, in running conversations too.",
    )
    def patch(self, request: Request, collection: int) -> Response:
        row = self.own(collection)
        values = validated(CollectionChange, request.data)
        if not values:
            raise ValidationError(["There is nothing to change."])
        assistants = values.pop("assistants", None)
        try:
            change_collection(collection=row, actor=actor_of(self.member), values=values, assistants=assistants)
        except PlacingError as exc:
            raise _refusal(exc) from exc
        return Response(CollectionOut(self.own(collection)).data)

    @operation(
        "Delete a collection",
        path=["collection"],
        responses={204: (None, None)},
        conflicts={"conflict": "The collection has documents: everybody could read them."},
        tag=TAG,
        description="One without documents.",
    )
    def delete(self, request: Request, collection: int) -> Response:
        try:
            delete_collection(collection=self.own(collection), actor=actor_of(self.member))
        except PlacingError as exc:
            raise HttpRefusal(409, "conflict", str(exc)) from exc
        return Response(status=204)


class CollectedDocuments(CollectionView):
    """What is in a collection."""

    @operation(
        "List the documents of a collection",
        path=["collection"],
        query=DocumentQuery,
        responses={200: (DocumentPage, {"results": [DOCUMENT], "next": None})},
        tag=TAG,
        description="By id.",
    )
    def get(self, request: Request, collection: int) -> Response:
        row = self.own(collection)
        query = validated_query(DocumentQuery, request)
        entries = CollectedDocument.objects.filter(tenant_id=row.tenant_id, collection=row, document=OuterRef("pk"))
        return Response(DocumentPage(page_of(rows_of(self.member).filter(Exists(entries)), query)).data)

    @operation(
        "Put documents into a collection",
        path=["collection"],
        body=PlacingIn,
        example={"documents": [9, 12], "row": {"model": "crm.Contract", "key": "17"}},
        responses={200: (PlacedOut, {"placed": 2})},
        tag=TAG,
        description=f"At most {MAX_PLACED} at once, all or none. Each is taken out of any other collection.",
    )
    def post(self, request: Request, collection: int) -> Response:
        row = self.own(collection)
        given = validated(PlacingIn, request.data)
        tenant = Tenant.objects.get(pk=self.member.tenant_id)
        try:
            placed = place_documents(
                tenant=tenant,
                document_ids=given["documents"],
                collection=row,
                actor=actor_of(self.member),
                row=_row_of(given),
            )
        except PlacingError as exc:
            raise _refusal(exc) from exc
        return Response({"placed": placed})


def _row_of(given: dict[str, Any]) -> Any:
    if "row" not in given:
        return KEEP_ROW
    named = given["row"]
    if named is None:
        return None
    try:
        label = apps.get_model(named["model"])._meta.label
    except (LookupError, ValueError):
        label = None
    if label is None or not named["key"].strip():
        raise HttpRefusal(400, "invalid_input", "There is no such model here.", {"row": ["There is no such model."]})
    return RowName(label, named["key"])


class OneCollectedDocument(CollectionView):
    """A document in a collection."""

    @operation(
        "Take a document out of a collection",
        path=["collection", "document"],
        responses={204: (None, None)},
        tag=TAG,
        description="It stays a document: everybody in the tenant may read it then.",
    )
    def delete(self, request: Request, collection: int, document: int) -> Response:
        row = self.own(collection)
        is_here = document in INTEGERS and row.entries.filter(tenant_id=row.tenant_id, document_id=document).exists()
        if not is_here:
            raise not_found()
        tenant = Tenant.objects.get(pk=self.member.tenant_id)
        place_documents(tenant=tenant, document_ids=[document], collection=None, actor=actor_of(self.member))
        return Response(status=204)
