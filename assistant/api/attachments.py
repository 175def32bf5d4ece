"""Uploads of files for messages, and their bytes for those who may read them."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from django.core.files.base import File
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_http_methods
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.cross_origin import FOR_WIDGET, CrossOriginView
from assistant.api.files import readable_over_http
from assistant.api.parsers import OneFormat
from assistant.services.db.threads import in_database
from assistant.services.files.attachments import (
    ReadFile,
    check_size,
    delete_unsent,
    find_attachment,
    limits_of,
    read_upload,
    store_attachment,
)
from assistant.services.files.kinds import Code, FileRefused
from assistant.services.files.limits import AttachmentLimits
from assistant.services.files.reader_threads import in_reader
from assistant.services.files.reader_turns import Uploader
from assistant.services.files.serving import attachment_description, attachment_response
from assistant.services.tenancy.scopes import REST

logger = logging.getLogger(__name__)

STATUS_OF_FILE: Mapping[Code, int] = {
    "file_type": 415,
    "file_too_large": 413,
    "file_encrypted": 400,
    "file_unreadable": 400,
    "files_busy": 503,
    "file_quota": 409,
    "attachments_off": 403,
}


class OneForm(OneFormat):
    """Reads forms with files in place of JSON."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """Return the parser of forms for a form, None for any other type."""
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return parsers[0] if kind == "multipart/form-data" else None


class _AttachmentView(CrossOriginView):
    door = FOR_WIDGET
    parser_classes = (MultiPartParser,)  # type: ignore[assignment]  # as Django REST framework has it
    content_negotiation_class = OneForm


def refusal_of_file(refused: FileRefused) -> HttpRefusal:
    """Return the error response for a file that cannot be taken."""
    retry_after = 60 if refused.code == "files_busy" else None
    fields = {"file": [str(refused)]}
    return HttpRefusal(STATUS_OF_FILE[refused.code], refused.code, str(refused), fields, retry_after=retry_after)


class Attachments(_AttachmentView):
    """Files that the caller uploads to send with a message."""

    async def post(self, request: Request) -> Response:
        limits = await in_database(limits_of, self.member)
        file = await asyncio.to_thread(file_of, request)
        try:
            check_size(file.size or 0, limits)
            read = await in_reader(self.member, partial(_read, file, limits, Uploader.of(self.member)))
            row = await in_database(store_attachment, member=self.member, read=read, limits=limits)
        except FileRefused as refused:
            raise refusal_of_file(refused) from refused
        return Response(attachment_description(row, self.tenant_slug), status=201)


def file_of(request: Request) -> File[bytes]:
    """Return the file of a form. Raises `HttpRefusal` unless there is one."""
    files = request.FILES.getlist("file")
    if len(files) != 1:
        raise HttpRefusal(400, "invalid_input", "Send one file, as the field file.", {"file": ["Send one file."]})
    return cast("File[bytes]", files[0])


def _read(file: File[bytes], limits: AttachmentLimits, uploader: Uploader) -> ReadFile:
    return read_upload(content=file.read(), name=file.name or "", limits=limits, uploader=uploader)


class OneAttachment(_AttachmentView):
    """A file that the caller may read."""

    async def get(self, request: Request, attachment: uuid.UUID) -> Response:
        row = await in_database(find_attachment, member=self.member, attachment_id=attachment)
        if row is None:
            raise not_found()
        return Response(attachment_description(row, self.tenant_slug))

    async def delete(self, request: Request, attachment: uuid.UUID) -> Response:
        if not await in_database(delete_unsent, member=self.member, attachment_ids=[attachment]):
            raise not_found()
        return Response(status=204)


@require_http_methods(["GET", "HEAD", "OPTIONS"])
def content(request: HttpRequest, tenant: str, attachment: uuid.UUID) -> HttpResponseBase:
    """Serve a file's bytes: images inline, anything else as a download."""
    rule = REST["attachments/<uuid:attachment>/content/"]["GET"]
    return readable_over_http(request, tenant, rule, partial(_content, attachment))


def _content(attachment: uuid.UUID, member: Any) -> HttpResponseBase | None:
    row = find_attachment(member=member, attachment_id=attachment)
    if row is None:
        return None
    try:
        return attachment_response(row)
    except Exception:  # storages raise their own
        logger.exception("The stored file of attachment %s cannot be read", row.pk)
        return None
