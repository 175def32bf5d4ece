"""Files that tools returned, for the member in whose conversation they did, or the end user whose page shows it."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods

from assistant.api.authentication import HttpRefusal, bearer_key, caller_of, not_found
from assistant.services.tenancy.end_users import end_user_by_token, is_origin_allowed, is_token
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import all_tenants, set_tenants
from assistant.services.toolcalls.files import file_response, find_file


@require_http_methods(["GET", "HEAD", "OPTIONS"])
def tool_file(request: HttpRequest, tenant: str, file: uuid.UUID) -> HttpResponse:
    """One file, by its id: an image to be shown, anything else to be saved."""
    origin = request.headers.get("Origin", "")
    if request.method == "OPTIONS":
        return _preflight(tenant, origin)
    try:
        member = _reader(request, tenant, origin)
        set_tenants(member.tenant_id)
        found = find_file(member=member, file_id=file)
        if found is None:
            raise not_found()
    except HttpRefusal as refusal:
        return refusal.response()
    answer = file_response(found)
    if member.assistant_id is not None:
        answer["Access-Control-Allow-Origin"] = origin
    patch_vary_headers(answer, ["Authorization", "Origin"])
    return answer


def _reader(request: HttpRequest, tenant: str, origin: str) -> Member:
    """Who asks for a file: an end user by their token, from a page that may show the assistant; else as everywhere."""
    token = bearer_key(request)
    if token is None or not is_token(token):
        return caller_of(request, tenant, "read")
    with all_tenants():
        visitor = end_user_by_token(token=token, tenant_slug=tenant, origin=origin)
    if visitor is None:
        raise HttpRefusal(401, "unauthorized", "The token has ended, or does not count from this page.")
    return visitor.member


def _preflight(tenant: str, origin: str) -> HttpResponse:
    """What a browser asks before it sends a token from a page of another origin."""
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
