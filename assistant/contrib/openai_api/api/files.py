"""OpenAI's Files API over attachments. A file belongs to the key that uploaded it; messages get copies of it."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase

from assistant.api.attachments import refusal_of_file
from assistant.api.authentication import HttpRefusal
from assistant.contrib.openai_api.api.endpoint import endpoint
from assistant.contrib.openai_api.api.lists import page_of, query_of
from assistant.contrib.openai_api.api.shapes import error
from assistant.contrib.openai_api.services.key_files import (
    PURPOSES,
    delete_key_file,
    expires_at,
    find_key_file,
    key_files,
)
from assistant.contrib.openai_api.services.request_fields import InvalidRequest
from assistant.contrib.openai_api.services.responses.ids import file_id, parse_file_id
from assistant.models import Attachment
from assistant.services.db.threads import in_database
from assistant.services.files.attachments import check_size, limits_of, read_upload, store_attachment
from assistant.services.files.kinds import FileRefused
from assistant.services.files.limits import AttachmentLimits
from assistant.services.files.reader_threads import in_reader
from assistant.services.files.reader_turns import Uploader
from assistant.services.files.serving import attachment_response
from assistant.services.tenancy.authentication import Caller

logger = logging.getLogger(__name__)

MAX_PAGE = 10_000


async def _upload(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Store a file, which responses of the same key can name by its id."""
    limits = await in_database(limits_of, caller.member)
    try:
        purpose, name, content = await asyncio.to_thread(_form_of, request, limits)
        uploader = Uploader.of(caller.member)
        read_it = partial(read_upload, content=content, name=name, limits=limits, uploader=uploader)
        read = await in_reader(caller.member, read_it)
        row = await in_database(store_attachment, member=caller.member, read=read, limits=limits, purpose=purpose)
    except FileRefused as refused:
        raise refusal_of_file(refused) from refused
    return JsonResponse(file_body(row))


def _form_of(request: HttpRequest, limits: AttachmentLimits) -> tuple[str, str, bytes]:
    """Return the purpose, and the name and content of the file, of a form."""
    if request.content_type != "multipart/form-data":
        raise InvalidRequest("file", "must be sent as multipart/form-data.")
    try:
        files, fields = request.FILES, request.POST
    except (MultiPartParserError, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent) as exc:
        raise HttpRefusal(400, "invalid_input", "The form cannot be read.") from exc
    for field in fields:
        if field != "purpose":
            raise InvalidRequest(field[:100], "there is no such parameter.", error_code="unknown_parameter")
    if (purpose := fields.get("purpose")) not in PURPOSES:
        raise InvalidRequest("purpose", f"must be {', '.join(PURPOSES)}.")
    sent = files.getlist("file")
    if len(sent) != 1 or len(files) != 1:
        raise InvalidRequest("file", "send one file.")
    check_size(sent[0].size or 0, limits)
    return str(purpose), sent[0].name or "", sent[0].read()


async def _list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """List the files that the key has uploaded, the latest first."""
    query = query_of(request, {"after", "limit", "order", "purpose"})
    found = await in_database(key_files, member=caller.member, purpose=query.get("purpose", ""))
    return JsonResponse(page_of([file_body(row) for row in found], query, most=MAX_PAGE))


async def _retrieve(request: HttpRequest, caller: Caller, file: str) -> HttpResponseBase:
    """Describe a file."""
    row = await _find(caller, file)
    return _no_such_file(file) if row is None else JsonResponse(file_body(row))


async def _content(request: HttpRequest, caller: Caller, file: str) -> HttpResponseBase:
    """Return a file's bytes."""
    row = await _find(caller, file)
    if row is None:
        return _no_such_file(file)
    try:
        return await in_database(attachment_response, row)
    except Exception:  # storages raise their own
        logger.exception("The stored file of attachment %s cannot be read", row.pk)
        return _no_such_file(file)


async def _delete(request: HttpRequest, caller: Caller, file: str) -> HttpResponseBase:
    """Delete a file. Messages that it was sent with keep their copies."""
    attachment = parse_file_id(file)
    if attachment is None or not await in_database(delete_key_file, member=caller.member, attachment_id=attachment):
        return _no_such_file(file)
    return JsonResponse({"id": file, "object": "file", "deleted": True})


async def _find(caller: Caller, file: str) -> Attachment | None:
    attachment = parse_file_id(file)
    if attachment is None:
        return None
    return await in_database(find_key_file, member=caller.member, attachment_id=attachment)


def file_body(row: Attachment) -> dict[str, Any]:
    """Return a file in OpenAI's shape."""
    return {
        "id": file_id(row.pk),
        "object": "file",
        "bytes": row.size,
        "created_at": int(row.created_at.timestamp()),
        "expires_at": int(expires_at(row).timestamp()),
        "filename": row.name,
        "purpose": row.purpose,
        "status": "processed",
        "status_details": None,
    }


def _no_such_file(file: str) -> JsonResponse:
    return error(404, f"There is no file with the id {file[:200]!r}.", code="not_found", param="file_id")


files = endpoint("files", {"GET": _list, "POST": _upload})
one_file = endpoint("files/<str:file>", {"GET": _retrieve, "DELETE": _delete})
content = endpoint("files/<str:file>/content", {"GET": _content})
