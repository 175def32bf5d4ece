"""Who calls over HTTP: a member by API key, or by the site's own session with CSRF protection."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import CsrfViewMiddleware

from assistant.services.members import Member, find_member, member_by_key


class HttpRefusal(Exception):
    """The request is answered with an error; `code` and the sentence go to the caller."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code

    def response(self) -> JsonResponse:
        answer = JsonResponse({"code": self.code, "message": str(self)}, status=self.status)
        if self.status == 401:
            answer["WWW-Authenticate"] = "Bearer"
        return answer


def caller_of(request: HttpRequest, tenant_slug: str, scope: str) -> Member:
    """The member behind a request to a tenant's address. Queries the database.

    Raises:
        HttpRefusal: 401 without a good key or session, 404 for a tenant that is not the caller's (or is not at all),
            403 for a key without `scope` and for a session's request without its CSRF token.
    """
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        member = member_by_key(key=credentials.strip())
        if member is None:
            raise HttpRefusal(401, "unauthorized", "The API key is unknown, expired or revoked.")
        if member.tenant.slug != tenant_slug:
            raise not_found()
        if scope not in member.scopes:
            raise HttpRefusal(403, "forbidden", f"This key has no {scope} scope.")
        return member
    user = request.user
    if not user.is_authenticated:
        raise HttpRefusal(401, "unauthorized", "An API key is needed: Authorization: Bearer <key>.")
    if request.method not in {"GET", "HEAD"} and _lacks_csrf_token(request):
        raise HttpRefusal(403, "forbidden", "The CSRF token is missing or wrong.")
    member = find_member(user_id=user.pk, tenant_slug=tenant_slug)
    if member is None:
        raise not_found()
    return member


def not_found() -> HttpRefusal:
    return HttpRefusal(404, "not_found", "There is no such thing here.")


def _lacks_csrf_token(request: HttpRequest) -> bool:
    check = CsrfViewMiddleware(_nothing)
    check.process_request(request)
    return check.process_view(request, _nothing, (), {}) is not None


def _nothing(request: HttpRequest) -> HttpResponse:
    """A view that needs its CSRF token."""
    return HttpResponse()
