"""A tenant's documents, which assistants search: listed, uploaded, changed and deleted by its admins and owners."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, cast

from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.attachments import OneForm, file_of, refusal_of_file
from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import AsyncTenantView, TenantView, validated, validated_query
from assistant.api.fields import Flag, QueryFlag, Text
from assistant.api.serializers import ApiSerializer
from assistant.models import Document, Tenant
from assistant.services.db.threads import in_database
from assistant.services.files.kinds import FileRefused
from assistant.services.files.reader_threads import in_reader
from assistant.services.files.reader_turns import Uploader
from assistant.services.knowledge.changes import change_document, delete_document
from assistant.services.knowledge.files import Content, DocumentError, read_file
from assistant.services.knowledge.folders import MAX_TITLE, Kept, store_content
from assistant.services.tenancy.audit_trail import actor_of
from assistant.services.tenancy.members import Member
from assistant.services.text import INTEGERS
from assistant.services.toolpolicy.catalogue import is_family_on

MAX_LISTED = 100
FOR_ADMINS = "Only the tenant's admins and owners manage its documents."


class DocumentOut(ApiSerializer):
    id = serializers.IntegerField()
    title = serializers.CharField()
    kind = serializers.ChoiceField(choices=Document.Kind.choices)
    language = serializers.CharField(help_text="The ISO code of its language; empty if it could not be told.")
    filename = serializers.CharField(help_text="The file that it was read from.")
    is_trusted = serializers.BooleanField(help_text="Its authors may instruct assistants.")
    characters = serializers.IntegerField(help_text="The length of its text.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class WholeDocumentOut(DocumentOut):
    text = serializers.CharField(help_text="Pages of a PDF are separated by form feeds.")


class DocumentPage(ApiSerializer):
    results = DocumentOut(many=True)
    next = serializers.IntegerField(allow_null=True, help_text="`after` of the next page; null on the last.")


class DocumentQuery(ApiSerializer):
    after = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=INTEGERS.stop - 1, help_text="Those with a greater id."
    )
    limit = serializers.IntegerField(required=False, default=MAX_LISTED, min_value=1, max_value=MAX_LISTED)
    q = Text(required=False, default="", allow_blank=True, max_length=200, help_text="A part of the title.")


class DocumentIn(ApiSerializer):
    # Other fields of a form are not read.
    constraints = {"propertyNames": {}, "additionalProperties": {}}

    file = serializers.FileField()
    title = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=MAX_TITLE,
        help_text="Empty: the first heading of level one, else the file's name.",
    )
    is_trusted = QueryFlag(required=False, default=False, help_text="Its authors may instruct assistants.")
    collection = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=100,
        help_text="The name of a collection that it is put into. Empty: it stays where it is, a new one in none.",
    )


class DocumentChange(ApiSerializer):
    title = Text(required=False, max_length=MAX_TITLE)
    is_trusted = Flag(required=False)


def require_admin(member: Member) -> None:
    """Raise `HttpRefusal` unless a member may manage the tenant's documents, and there can be some."""
    if not is_family_on("knowledge"):
        raise not_found()
    if not member.is_admin:
        raise HttpRefusal(403, "forbidden", FOR_ADMINS)


def rows_of(member: Member) -> QuerySet[Document]:
    """Return the documents of a member's tenant without their texts, as `DocumentOut` shows them."""
    rows = Document.objects.filter(tenant_id=member.tenant_id).defer("text")
    return rows.annotate(characters=Length("text")).order_by("pk")


def page_of(rows: QuerySet[Document], query: dict[str, Any]) -> dict[str, Any]:
    """Return the page of documents that a query asks for, as `DocumentPage` shows it."""
    found = list(rows.filter(pk__gt=query["after"], title__icontains=query["q"])[: query["limit"] + 1])
    shown = found[: query["limit"]]
    return {"results": shown, "next": shown[-1].pk if len(found) > len(shown) else None}


class Documents(AsyncTenantView):
    """A tenant's documents."""

    parser_classes = (MultiPartParser,)  # type: ignore[assignment]  # as Django REST framework has it
    content_negotiation_class = OneForm

    async def get(self, request: Request) -> Response:
        require_admin(self.member)
        query = validated_query(DocumentQuery, request)
        page = await in_database(page_of, rows_of(self.member), query)
        return Response(DocumentPage(page).data)

    async def post(self, request: Request) -> Response:
        require_admin(self.member)
        file = await asyncio.to_thread(file_of, request)
        given = validated(DocumentIn, cast(QueryDict, request.data).dict())
        try:
            read = partial(read_file, file, uploader=Uploader.of(self.member))
            content = await in_reader(self.member, read)
            kept = await in_database(_stored, self.member, content, given)
        except FileRefused as refused:
            raise refusal_of_file(refused) from refused
        except DocumentError as exc:
            raise refusal_of_document(exc) from exc
        status = 201 if kept.outcome == "added" else 200
        row = kept.document
        row.characters = len(row.text)  # type: ignore[attr-defined]  # as `rows_of` annotates it
        return Response({**DocumentOut(row).data, "outcome": kept.outcome}, status=status)


def refusal_of_document(exc: DocumentError) -> HttpRefusal:
    """Return the error response for a document that cannot be stored."""
    if isinstance(exc.__cause__, FileRefused):
        return refusal_of_file(exc.__cause__)
    return HttpRefusal(400, "invalid_input", str(exc))


def _stored(member: Member, content: Content, given: dict[str, Any]) -> Kept:
    return store_content(
        tenant=Tenant.objects.get(pk=member.tenant_id),
        content=content,
        actor=actor_of(member),
        title=given["title"],
        is_trusted=given["is_trusted"],
        collection=given["collection"],
    )


class OneDocument(TenantView):
    """One document of the tenant."""

    def get(self, request: Request, document: int) -> Response:
        return Response(WholeDocumentOut(self._own(document)).data)

    def patch(self, request: Request, document: int) -> Response:
        row = self._own(document)
        given = validated(DocumentChange, request.data)
        if not given:
            raise ValidationError(["There is nothing to change: give a title or is_trusted."])
        try:
            change_document(document=row, actor=actor_of(self.member), **given)
        except DocumentError as exc:
            raise refusal_of_document(exc) from exc
        return Response(WholeDocumentOut(self._own(document)).data)

    def delete(self, request: Request, document: int) -> Response:
        delete_document(document=self._own(document), actor=actor_of(self.member))
        return Response(status=204)

    def _own(self, document: int) -> Document:
        require_admin(self.member)
        row = rows_of(self.member).defer(None).filter(pk=document).first() if document in INTEGERS else None
        if row is None:
            raise not_found()
        return row
