"""Files that tools returned, for the member in whose conversation they did."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from assistant.api.callers import HttpRefusal, caller_of, not_found
from assistant.services.tenancy import enter
from assistant.services.toolfiles import file_response, find_file


@require_safe
def tool_file(request: HttpRequest, tenant: str, file: uuid.UUID) -> HttpResponse:
    """One file, by its id: an image to be shown, anything else to be saved."""
    try:
        member = caller_of(request, tenant, "read")
        enter(member.tenant_id)
        found = find_file(member=member, file_id=file)
        if found is None:
            raise not_found()
    except HttpRefusal as refusal:
        return refusal.response()
    return file_response(found)
