"""A tenant's documents."""

from __future__ import annotations

from rest_framework import serializers

from assistant.api.documents import (
    MAX_LISTED,
    DocumentChange,
    DocumentIn,
    DocumentOut,
    DocumentPage,
    DocumentQuery,
    Documents,
    OneDocument,
    WholeDocumentOut,
)
from assistant.api.openapi import Operation
from assistant.contrib.docs.operations.shapes import Error, Operations

DOCUMENT = {
    "id": 9,
    "title": "Parking permit",
    "kind": "markdown",
    "language": "en",
    "filename": "parking.md",
    "is_trusted": False,
    "characters": 1840,
    "created_at": "2026-11-21T09:30:00Z",
    "updated_at": "2026-11-21T09:30:00Z",
}


class StoredDocumentOut(DocumentOut):
    outcome = serializers.ChoiceField(choices=["added", "replaced", "unchanged"])


OPERATIONS: Operations = {
    Documents: {
        "get": Operation(
            "List documents",
            query=DocumentQuery,
            responses={200: (DocumentPage, {"results": [DOCUMENT], "next": None})},
            tag="documents",
            description=f"All of the tenant's, by id, for its admins and owners; {MAX_LISTED} a page at most.",
        ),
        "post": Operation(
            "Upload a document",
            body=DocumentIn,
            body_type="multipart/form-data",
            example={
                "file": "the bytes of the file",
                "title": "Parking permit",
                "is_trusted": "true",
                "collection": "",
            },
            responses={
                200: (StoredDocumentOut, {**DOCUMENT, "outcome": "replaced"}),
                201: (StoredDocumentOut, {**DOCUMENT, "outcome": "added"}),
                503: (Error, None),
            },
            tag="documents",
            description="One file as `file` of `multipart/form-data`. It replaces the document of its title, or "
            "the only one that was read from a file of its name; until it is stored the old one is found. What has not "
            "changed is left alone.",
        ),
    },
    OneDocument: {
        "get": Operation(
            "Read a document",
            path=["document"],
            responses={200: (WholeDocumentOut, {**DOCUMENT, "text": "# Parking permit\n\nCars stand in the yard."})},
            tag="documents",
            description="With its text.",
        ),
        "patch": Operation(
            "Change a document",
            path=["document"],
            body=DocumentChange,
            example={"is_trusted": True},
            responses={200: (WholeDocumentOut, {**DOCUMENT, "is_trusted": True, "text": "Cars stand in the yard."})},
            tag="documents",
            description="Its title, and whether it is trusted. Upload a file to replace its text.",
        ),
        "delete": Operation(
            "Delete a document",
            path=["document"],
            responses={204: (None, None)},
            tag="documents",
            description="Nobody finds it from then on, in running conversations too.",
        ),
    },
}
