"""Authentication over HTTP, by API key or by the site's own session with CSRF protection, and its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.views.decorators.csrf import csrf_exempt

from assistant.services.callers.doors import Door, aadmit, admit
from assistant.services.tenancy.authentication import (
    AccessDenied,
    BrowserSession,
    Caller,
    CredentialKind,
    Credentials,
    Reason,
    bearer_of,
)
from assistant.services.tenancy.scopes import Rule

API = Door(frozenset({CredentialKind.API_KEY, CredentialKind.SESSION}))
SAFE_METHODS = frozenset({"GET", "HEAD"})
STATUS_AND_CODE: Mapping[Reason, tuple[int, str]] = {
    "no_credentials": (401, "unauthorized"),
    "bad_credentials": (401, "unauthorized"),
    "cross_site": (403, "forbidden"),
    "missing_scope": (403, "forbidden"),
    "wrong_address": (404, "not_found"),
    "too_many_requests": (429, "too_many_requests"),
}
FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


class HttpRefusal(Exception):
    """An error that answers the request: its status, and `code`, message and `fields` for the body.

    `retry_after`: the seconds after which the request may be sent again.
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


def caller_of(request: HttpRequest, rule: Rule, *, tenant_slug: str = "", door: Door = API) -> Caller:
    """Admit the caller of a request, and set the tenant scope. Queries the database. Raises `AccessDenied`."""
    return admit(credentials_of(request), door, rule=rule, tenant_slug=tenant_slug)


async def acaller_of(request: HttpRequest, rule: Rule, *, tenant_slug: str = "", door: Door = API) -> Caller:
    """As `caller_of`, from async code."""
    return await aadmit(credentials_of(request), door, rule=rule, tenant_slug=tenant_slug)


def credentials_of(request: HttpRequest) -> Credentials:
    """Return the credentials of a request: its API key or token if it has one, else its session."""
    bearer = bearer_of(request.headers)
    if bearer is not None:
        return Credentials(bearer=bearer, origin=_page_origin(request))
    session = BrowserSession(
        request.session,
        user=lambda: request.user,
        is_cross_site=lambda: request.method not in SAFE_METHODS and _lacks_csrf_token(request),
    )
    return Credentials(session=session)


def _page_origin(request: HttpRequest) -> str:
    """Return the origin of the page that sent a request, "" if unknown.

    Browsers name none in a GET to the page's own.
    """
    if "Origin" in request.headers or request.method not in SAFE_METHODS:
        return request.headers.get("Origin", "")
    own = f"{request.scheme}://{request.get_host()}"
    # Browsers send it to trustworthy addresses only, such as those with https.
    said = request.headers.get("Sec-Fetch-Site")
    is_own = said == "same-origin" if said else request.headers.get("Referer", "").startswith(f"{own}/")
    return own if is_own else ""


def refusal_of_access(denied: AccessDenied) -> HttpRefusal:
    """Return the error response for a caller who is not admitted."""
    status, code = STATUS_AND_CODE[denied.reason]
    return HttpRefusal(status, code, str(denied), retry_after=denied.retry_after)


def not_found() -> HttpRefusal:
    return HttpRefusal(404, "not_found", "There is no such thing here.")


@csrf_exempt
def nothing_here(request: HttpRequest) -> HttpResponse:
    """Answer 404 for an address that the API does not have."""
    return not_found().response()


def _lacks_csrf_token(request: HttpRequest) -> bool:
    if request.content_type in FORMS:
        # Looking for a token in a form would read its whole body. Django looks at the header alone for other methods,
        # and no page of another site can send the header.
        request = copy(request)
        request.method = "PUT"
    check = CsrfViewMiddleware(_placeholder_view)
    check.process_request(request)
    return check.process_view(request, _placeholder_view, (), {}) is not None


def _placeholder_view(request: HttpRequest) -> HttpResponse:
    """A placeholder: Django's CSRF middleware needs a view."""
    return HttpResponse()
