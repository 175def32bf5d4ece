"""Views that end users call from their pages, with CORS by the list of origins that the tenant allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from assistant.api.authentication import API, not_found
from assistant.api.base import AsyncTenantView
from assistant.services.db.threads import in_database
from assistant.services.tenancy.authentication import CredentialKind
from assistant.services.tenancy.end_users import directory

WITH_END_USERS = replace(API, accepts=API.accepts | {CredentialKind.END_USER_TOKEN})
# What the widget asks for, for members too: files, and rows by their names.
FOR_WIDGET = replace(API, accepts=WITH_END_USERS.accepts | {CredentialKind.MEMBER_TOKEN})
SENT_HEADERS = "Authorization, Content-Type, Last-Event-ID, Idempotency-Key"
READ_HEADERS = "Retry-After, Idempotent-Replayed, Assistant-Rows"


class CrossOriginView(AsyncTenantView):
    """A view for end users' tokens too. What it answers them is readable on the tenant's origins alone."""

    door = WITH_END_USERS

    async def dispatch(self, request: HttpRequest, *args: Any, tenant: str, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        origin = request.headers.get("Origin", "")
        if request.method == "OPTIONS":
            return await in_database(preflight, tenant, origin, ", ".join(self.rules))
        answer = await super().dispatch(request, *args, tenant=tenant, **kwargs)
        caller = getattr(self, "caller", None)
        if caller is None:
            # Its page has to learn that a token has expired.
            is_readable = bool(origin) and await in_database(
                directory().is_origin_allowed, tenant_slug=tenant, origin=origin
            )
        else:
            is_readable = bool(origin) and caller.member.assistant_id is not None
        if is_readable:
            answer["Access-Control-Allow-Origin"] = origin
            answer["Access-Control-Expose-Headers"] = READ_HEADERS
        patch_vary_headers(cast(HttpResponse, answer), ["Authorization", "Cookie", "Origin"])
        return answer


def preflight(tenant: str, origin: str, methods: str) -> HttpResponse:
    """Answer the CORS preflight that a browser sends before a request with a token from another origin."""
    if not directory().is_origin_allowed(tenant_slug=tenant, origin=origin):
        return not_found().response()
    headers = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": SENT_HEADERS,
        "Access-Control-Max-Age": "600",
        "Vary": "Origin",
    }
    return HttpResponse(status=204, headers=headers)
