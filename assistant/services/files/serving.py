"""Describes attached files to clients, and serves their bytes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.http import HttpResponse

from assistant.models import Attachment
from assistant.services.addresses import api_url


def attachment_description(row: Attachment, tenant_slug: str) -> dict[str, Any]:
    """Return a file's description for clients; `url` opens it for those who may read it."""
    return {
        "id": str(row.pk),
        "name": row.name,
        "kind": row.kind,
        "mediaType": row.media_type,
        "size": row.size,
        "isScan": row.kind == Attachment.Kind.PDF and not row.text_format,
        "url": content_url(tenant_slug, str(row.pk)),
    }


def content_url(tenant_slug: str, attachment_id: str) -> str:
    """Return the path of a file's bytes."""
    return api_url("attachment-content", tenant=tenant_slug, attachment=attachment_id)


def attachment_response(row: Attachment) -> HttpResponse:
    """Return the file's bytes: an image to be shown, anything else only as a download, and none as a document.

    Raises:
        Exception: the stored file cannot be read; storages raise their own.
    """
    is_image = row.kind == Attachment.Kind.IMAGE
    kind = f"{row.media_type}; charset=utf-8" if row.media_type.startswith("text/") else row.media_type
    # Not a FileResponse, which ASGI servers read as a whole too, with a warning.
    with row.file.open("rb") as stored:
        response = HttpResponse(stored.read(), content_type=kind)
    plain = row.name.encode("ascii", "replace").decode().replace("?", "_")
    disposition = "inline" if is_image else "attachment"
    response["Content-Disposition"] = f"{disposition}; filename=\"{plain}\"; filename*=utf-8''{quote(row.name)}"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "same-site" if is_image else "same-origin"
    response["Cache-Control"] = "private, max-age=3600"
    return response
