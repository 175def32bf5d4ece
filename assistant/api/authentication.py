"""Who calls over HTTP: a member by API key, or by the site's own session with CSRF protection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import CsrfViewMiddleware

from assistant.services.limits.api_key_requests import TooManyRequests, count_request
from assistant.services.tenancy.members import Member, find_member, member_by_key

FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


class HttpRefusal(Exception):
    """The request is answered with an error; `code`, the sentence and `fields` go to the caller.

    `retry_after` is how many seconds later it may be sent again.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        fields: Mapping[str, Sequence[str]] | None = None,
        *,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.fields = dict(fields or {})
        self.retry_after = retry_after

    @property
    def body(self) -> dict[str, Any]:
        return {"code": self.code, "message": str(self), "fields": self.fields}

    @property
    def headers(self) -> dict[str, str]:
        if self.retry_after is not None:
            return {"Retry-After": str(self.retry_after)}
        return {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}

    def response(self) -> JsonResponse:
        return JsonResponse(self.body, status=self.status, headers=self.headers)


def bearer_key(request: HttpRequest) -> str | None:
    """The API key that a request carries, if it carries one."""
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    return credentials.strip() if scheme.lower() == "bearer" else None


def key_holder(key: str, scopes: Sequence[str]) -> Member:
    """The member an API key speaks for. Queries the database.

    Raises:
        HttpRefusal: 401 for a bad key, 403 for one that has none of `scopes`, 429 for one that has sent all it may.
    """
    member = member_by_key(key=key)
    if member is None:
        raise HttpRefusal(401, "unauthorized", "The API key is unknown, expired or revoked.")
    if not member.scopes.intersection(scopes):
        raise HttpRefusal(403, "forbidden", f"This key has no {' or '.join(scopes)} scope.")
    try:
        count_request(member=member)
    except TooManyRequests as exc:
        raise HttpRefusal(429, "too_many_requests", str(exc), retry_after=exc.retry_after) from exc
    return member


def caller_of(request: HttpRequest, tenant_slug: str, scope: str) -> Member:
    """The member behind a request to a tenant's address. Queries the database.

    Raises:
        HttpRefusal: 401 without a good key or session, 404 for a tenant that is not the caller's (or is not at all),
            403 for a key without `scope` and for a session's request without its CSRF token.
    """
    key = bearer_key(request)
    if key is not None:
        member = key_holder(key, (scope,))
        if member.tenant.slug != tenant_slug:
            raise not_found()
        return member
    user = request.user
    if not user.is_authenticated:
        raise HttpRefusal(401, "unauthorized", "An API key is needed: Authorization: Bearer <key>.")
    if request.method not in {"GET", "HEAD"} and _lacks_csrf_token(request):
        raise HttpRefusal(403, "forbidden", "The CSRF token is missing or wrong.")
    found = find_member(user_id=user.pk, tenant_slug=tenant_slug)
    if found is None:
        raise not_found()
    return found


def session_of(request: HttpRequest) -> tuple[str, str]:
    """The key and the hash of the session that speaks for a caller; empty for one with an API key."""
    if bearer_key(request) is not None:
        return "", ""
    return request.session.session_key or "", request.session.get(HASH_SESSION_KEY, "")


def not_found() -> HttpRefusal:
    return HttpRefusal(404, "not_found", "There is no such thing here.")


def _lacks_csrf_token(request: HttpRequest) -> bool:
    if request.content_type in FORMS:
        # No form is taken here, and to look for a token in one is to read it, whatever it holds.
        return True
    check = CsrfViewMiddleware(_nothing)
    check.process_request(request)
    return check.process_view(request, _nothing, (), {}) is not None


def _nothing(request: HttpRequest) -> HttpResponse:
    """A view that needs its CSRF token."""
    return HttpResponse()
