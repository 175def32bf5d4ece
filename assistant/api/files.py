"""Serves files returned by tools to the member or end user of the conversation."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods

from assistant.api.authentication import caller_of, not_found, refusal_of_access
from assistant.api.cross_origin import FOR_WIDGET, preflight
from assistant.services.tenancy.authentication import AccessDenied
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.scopes import REST, Rule
from assistant.services.toolcalls.files import file_response, find_file


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
        member = caller_of(request, rule, tenant_slug=tenant, door=FOR_WIDGET).member
    except AccessDenied as denied:
        return refusal_of_access(denied).response()
    answer = answer_of(member)
    if answer is None:
        return not_found().response()
    if member.assistant_id is not None and origin:
        answer["Access-Control-Allow-Origin"] = origin
    patch_vary_headers(answer, ["Authorization", "Cookie", "Origin"])
    return answer
