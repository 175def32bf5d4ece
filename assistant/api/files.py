"""Serves files returned by tools to the member or end user of the conversation."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods

from assistant.api.authentication import API, caller_of, not_found, refusal_of_access
from assistant.services.tenancy.authentication import AccessDenied, CredentialKind
from assistant.services.tenancy.end_users import is_origin_allowed
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.scopes import REST, Rule
from assistant.services.toolcalls.files import file_response, find_file

# The widget fetches files, from pages on an origin that the tenant allows.
FILES = replace(API, accepts=API.accepts | {CredentialKind.END_USER_TOKEN, CredentialKind.MEMBER_TOKEN})


@require_http_methods(["GET", "HEAD", "OPTIONS"])
def tool_file(request: HttpRequest, tenant: str, file: uuid.UUID) -> HttpResponseBase:
    """Serve a file by its id: images inline, anything else as a download."""

    def found(member: Member) -> HttpResponse | None:
        row = find_file(member=member, file_id=file)
        return None if row is None else file_response(row)

    return readable_over_http(request, tenant, REST["files/<uuid:file>/"]["GET"], found)


def readable_over_http(
    request: HttpRequest, tenant: str, rule: Rule, answer_of: Callable[[Member], HttpResponseBase | None]
) -> HttpResponseBase:
    """Return what `answer_of` returns for the caller, or 404 for None; with CORS for end users' tokens."""
    origin = request.headers.get("Origin", "")
    if request.method == "OPTIONS":
        return preflight(tenant, origin, "GET")
    try:
        member = caller_of(request, rule, tenant_slug=tenant, door=FILES).member
    except AccessDenied as denied:
        return refusal_of_access(denied).response()
    answer = answer_of(member)
    if answer is None:
        return not_found().response()
    if member.assistant_id is not None and origin:
        answer["Access-Control-Allow-Origin"] = origin
    patch_vary_headers(answer, ["Authorization", "Cookie", "Origin"])
    return answer


def preflight(tenant: str, origin: str, methods: str) -> HttpResponse:
    """Answer the CORS preflight that a browser sends before a request with a token from another origin."""
    if not is_origin_allowed(tenant_slug=tenant, origin=origin):
        return not_found().response()
    headers = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": "Authorization",
        "Access-Control-Max-Age": "600",
        "Vary": "Origin",
    }
    return HttpResponse(status=204, headers=headers)
