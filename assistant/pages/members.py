"""Requests of members for pages of their tenant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.cache import never_cache

from assistant.pages.base_template import render_page
from assistant.pages.shell import render_in_shell
from assistant.pages.signed_in import signed_in
from assistant.services.callers.doors import Door, admit
from assistant.services.conversations.thread_keys import own_row
from assistant.services.tenancy.authentication import AccessDenied, BrowserSession, CredentialKind, Credentials
from assistant.services.tenancy.members import Member, suspended_tenants_of
from assistant.services.tenancy.scopes import OF_SESSIONS
from assistant.toolkit.context import UserId

# The key of the session under which the tenant is kept whose chat was open last.
TENANT_IN_SESSION = "tenant"
PAGES = Door(frozenset({CredentialKind.SESSION}))


@dataclass(frozen=True, slots=True)
class MemberRequest:
    """A request of a member for a page of their tenant."""

    member: Member
    request: HttpRequest


def user_id(request: HttpRequest) -> UserId:
    # `signed_in` lets nobody in who has none.
    return cast(UserId, request.user.pk)


def member_at(request: HttpRequest, tenant: str) -> Member:
    """Return the member that a signed-in person is at a tenant. Raises `AccessDenied` if they are none."""
    # Django's middleware has checked the CSRF token.
    session = BrowserSession(request.session, user=lambda: request.user, is_cross_site=lambda: False)
    return admit(Credentials(session=session), PAGES, rule=OF_SESSIONS, tenant_slug=tenant).member


def for_members(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    """Require a signed-in member of the tenant. Other users get 404, as for a tenant that does not exist.

    What a member does not find is said beside the list of conversations, and that their tenant is suspended with its
    notice.
    """

    @never_cache
    @signed_in
    def checked(request: HttpRequest, tenant: str, **values: Any) -> HttpResponse:
        try:
            member = member_at(request, tenant)
        except AccessDenied as denied:
            if not (own := [one for one in suspended_tenants_of(user_id=user_id(request)) if one.slug == tenant]):
                raise Http404 from denied
            return _as_missing(render_page(request, "assistant/chat/tenants.html", {"suspended": own}))
        if "thread" in values:
            values["thread"] = own_row(member=member, conversation_id=values["thread"])
        page = MemberRequest(member, request)
        try:
            return view(page, **values)
        except Http404:
            if request.method != "GET" or "text/html" not in request.headers.get("Accept", ""):
                raise
            return _as_missing(render_in_shell(page, "assistant/chat/not_found.html", {}))

    return checked


def _as_missing(response: HttpResponse) -> HttpResponse:
    response.status_code = 404
    return response
