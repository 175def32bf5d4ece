"""Requests of members for pages of their tenant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.cache import never_cache

from assistant.pages.signed_in import signed_in
from assistant.services.callers.doors import Door, admit
from assistant.services.conversations.thread_keys import own_row
from assistant.services.tenancy.authentication import AccessDenied, BrowserSession, CredentialKind, Credentials
from assistant.services.tenancy.members import Member
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
    user = request.user
    assert isinstance(user, AbstractBaseUser)  # noqa: S101 - signed_in lets nobody else in  # nosec B101
    pk: UserId = user.pk
    return pk


def member_at(request: HttpRequest, tenant: str) -> Member:
    """Return the member that a signed-in person is at a tenant. Raises `AccessDenied` if they are none."""
    # Django's middleware has checked the CSRF token.
    session = BrowserSession(request.session, user=lambda: request.user, is_cross_site=lambda: False)
    return admit(Credentials(session=session), PAGES, rule=OF_SESSIONS, tenant_slug=tenant).member


def for_members(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    """Require a signed-in member of the tenant. Other users get 404, as for a tenant that does not exist."""

    @never_cache
    @signed_in
    def checked(request: HttpRequest, tenant: str, **values: Any) -> HttpResponse:
        try:
            member = member_at(request, tenant)
        except AccessDenied as denied:
            raise Http404 from denied
        if "thread" in values:
            values["thread"] = own_row(member=member, conversation_id=values["thread"])
        return view(MemberRequest(member, request), **values)

    return checked
