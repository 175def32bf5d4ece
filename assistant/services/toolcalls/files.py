"""Stores files that tools return, and finds them for the member whose conversation they belong to."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpResponse

from assistant.models import ToolFile
from assistant.services.addresses import api_url
from assistant.services.run_key import RunKey
from assistant.services.tenancy.members import Member
from assistant.toolkit import Media


def store_files(*, key: RunKey, tenant_slug: str, call_pk: int, media: Sequence[Media]) -> list[dict[str, Any]]:
    """Store the files of a call; return the description of each for clients."""
    rows = ToolFile.objects.bulk_create(
        ToolFile(
            tenant_id=key.tenant_id,
            call_id=call_pk,
            name=one.name,
            media_type=one.media_type,
            size=len(one.data),
            data=one.data,
        )
        for one in media
    )
    return [file_description(row, tenant_slug) for row in rows]


def file_description(row: ToolFile, tenant_slug: str) -> dict[str, Any]:
    """Return a file's description for clients; only the member can open `url`."""
    url = api_url("tool-file", tenant=tenant_slug, file=row.pk)
    return {"name": row.name, "mediaType": row.media_type, "size": row.size, "url": url}


def files_of_calls(*, member: Member, call_pks: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the descriptions of files by their call's primary key."""
    found: dict[int, list[dict[str, Any]]] = {}
    rows = ToolFile.objects.filter(tenant_id=member.tenant_id, call__in=list(call_pks)).defer("data")
    for row in rows.order_by("created_at", "pk"):
        found.setdefault(row.call_id, []).append(file_description(row, member.tenant.slug))
    return found


def find_file(*, member: Member, file_id: uuid.UUID) -> ToolFile | None:
    """Return a file of a member's own conversation, or None."""
    own = ToolFile.objects.filter(
        pk=file_id, tenant_id=member.tenant_id, call__tenant_id=member.tenant_id, call__run__user_id=member.user_id
    )
    if member.assistant_id is not None:
        own = own.filter(call__run__assistant_id=member.assistant_id)
    return own.first()


def file_response(found: ToolFile) -> HttpResponse:
    """Return the file's bytes with headers that prevent scripts and content sniffing."""
    is_image = found.media_type.startswith("image/")
    kind = f"{found.media_type}; charset=utf-8" if found.media_type.startswith("text/") else found.media_type
    response = HttpResponse(bytes(found.data), content_type=kind)
    name = found.name.encode("ascii", "replace").decode().replace("?", "_")
    response["Content-Disposition"] = f'{"inline" if is_image else "attachment"}; filename="{name}"'
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, max-age=3600"
    return response
