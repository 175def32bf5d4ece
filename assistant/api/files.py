"""Serves files returned by tools to the member or end user of the conversation."""

from __future__ import annotations

import uuid
from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods

from assistant.api.authentication import API, caller_of, not_found, refusal_of_access
from assistant.services.tenancy.authentication import AccessDenied, CredentialKind
from assistant.services.tenancy.end_users import is_origin_allowed
from assistant.services.tenancy.scopes import REST
from assistant.services.toolcalls.files import file_response, find_file

# End users fetch files from pages on an origin that the tenant allows.
FILES = replace(API, accepts=API.accepts | {CredentialKind.END_USER_TOKEN})


@require_http_methods(["GET", "HEAD", "OPTIONS"])
def tool_file(request: HttpRequest, tenant: str, file: uuid.UUID) -> HttpResponse:
    """Serve a file by its id: images inline, anything else as a download."""
    origin = request.headers.get("Origin", "")
    if request.method == "OPTIONS":
        return _preflight(tenant, origin)
    try:
        member = caller_of(request, REST["files/<uuid:file>/"]["GET"], tenant_slug=tenant, door=FILES).member
    except AccessDenied as denied:
        return refusal_of_access(denied).response()
    found = find_file(member=member, file_id=file)
    if found is None:
        return not_found().response()
    answer = file_response(found)
    if member.assistant_id is not None:
        answer["Access-Control-Allow-Origin"] = origin
    patch_vary_headers(answer, ["Authorization", "Origin"])
    return answer


def _preflight(tenant: str, origin: str) -> HttpResponse:
    """Answer the CORS preflight that a browser sends before a request with a token from another origin."""
    if not is_origin_allowed(tenant_slug=tenant, origin=origin):
        return not_found().response()
    headers = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": "GET",
        "Access-Control-Allow-Headers": "Authorization",
        "Access-Control-Max-Age": "600",
        "Vary": "Origin",
    }
    return HttpResponse(status=204, headers=headers)
