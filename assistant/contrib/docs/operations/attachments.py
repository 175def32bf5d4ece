"""Files for messages."""

from __future__ import annotations

from rest_framework import serializers

from assistant.api.attachments import Attachments, OneAttachment
from assistant.api.openapi import Operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.docs.operations.shapes import Error, Operations
from assistant.models import Attachment

UPLOADED = {
    "id": "0190e0c5-6b0e-7c3a-9d4e-0a1b2c3d4e5f",
    "name": "invoice.pdf",
    "kind": "pdf",
    "mediaType": "application/pdf",
    "size": 48213,
    "isScan": False,
    "url": "/api/v1/tenants/acme/attachments/0190e0c5-6b0e-7c3a-9d4e-0a1b2c3d4e5f/content/",
}


class AttachmentOut(ApiSerializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=Attachment.Kind.values)
    mediaType = serializers.CharField(help_text="As the content says, not the name.")  # noqa: N815 - as in events
    size = serializers.IntegerField(help_text="In bytes.")
    isScan = serializers.BooleanField(  # noqa: N815
        help_text="A PDF without text, only pictures of pages: models that read PDFs take it, and no others."
    )
    url = serializers.CharField(help_text="The path of its bytes.")


class AttachmentIn(ApiSerializer):
    # Other fields of a form are not read.
    constraints = {"propertyNames": {}, "additionalProperties": {}}

    file = serializers.FileField()


OPERATIONS: Operations = {
    Attachments: {
        "post": Operation(
            "Upload a file for a message",
            body=AttachmentIn,
            body_type="multipart/form-data",
            example={"file": "the bytes of the file"},
            responses={201: (AttachmentOut, UPLOADED), 503: (Error, None)},
            conflicts={"file_quota": "Your organisation's files, or yours that are not sent, take up all their space."},
            tag="attachments",
            description="One file as `file` of `multipart/form-data`. It belongs to the caller until it is sent with a "
            "message, and is deleted after 24 hours if it is not.",
        ),
    },
    OneAttachment: {
        "get": Operation(
            "Describe an attached file",
            path=["attachment"],
            responses={200: (AttachmentOut, UPLOADED)},
            tag="attachments",
            description="The uploader until it is sent, then who may read the conversation.",
        ),
        "delete": Operation(
            "Delete a file that was not sent",
            path=["attachment"],
            responses={204: (None, None)},
            tag="attachments",
            description="A file that was sent belongs to its conversation, and is not found here.",
        ),
    },
}
