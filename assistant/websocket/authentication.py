"""Who opens a websocket, anybody else gets 403.

A member by API key, or by session cookie from an allowed origin; a tenant's end user by token from the tenant's pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, get_user
from django.db.models import QuerySet
from django.http.request import HttpRequest

from assistant.models import Assistant
from assistant.services.db.prepared_queries import PreparedQuery
from assistant.services.tenancy.end_users import end_user_by_token, is_token
from assistant.services.tenancy.members import Member, find_member, member_by_key
from assistant.services.tenancy.origins import headers_of, is_allowed_origin
from assistant.services.tenancy.row_scope import all_tenants

PROTOCOL = "agui.v1"
BEARER_PREFIX = "bearer."


@dataclass(frozen=True, slots=True)
class Caller:
    """A welcome caller.

    `session_key` and `session_hash` are set if a session cookie spoke for them; `assistant_id`, `origin` and `until` if
    an end user's token did: they are welcome there, from there, till then.
    """

    member: Member
    session_key: str = ""
    session_hash: str = ""
    assistant_id: int | None = None
    origin: str = ""
    until: datetime | None = None


def given_key(headers: Mapping[str, str], subprotocols: Sequence[str]) -> str | None:
    """The API key or token of a handshake, from its header or its subprotocols; never from the query string."""
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    for name in subprotocols:
        if name.startswith(BEARER_PREFIX):
            return name.removeprefix(BEARER_PREFIX)
    return None


def shown_credential(scope: Mapping[str, Any]) -> str:
    """What a handshake wants to be let in by, good or not: a key, a token, or a session's cookie."""
    key = given_key(headers_of(scope), scope.get("subprotocols") or ())
    return str(scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")) if key is None else key


@all_tenants()
def identify(scope: Mapping[str, Any], tenant_slug: str, assistant_slug: str) -> Caller | None:
    """The caller of a handshake, or None: whoever may not come in is not told why. Queries the database."""
    headers = headers_of(scope)
    key = given_key(headers, scope.get("subprotocols") or ())
    if key is None:
        caller = _by_session(scope, headers, tenant_slug)
    elif is_token(key):
        caller = _by_token(key, tenant_slug, assistant_slug, headers.get("origin", ""))
    else:
        caller = _by_key(key, tenant_slug)
    if caller is None or not caller.member.scopes & {"chat", "read"}:
        return None
    return caller if _ASSISTANT.rows(tenant_id=caller.member.tenant_id, slug=assistant_slug) else None


def _assistant(*, tenant_id: int, slug: str) -> QuerySet[Assistant, tuple[int]]:
    return Assistant.objects.filter(tenant_id=tenant_id, slug=slug, is_active=True).values_list("pk")


_ASSISTANT = PreparedQuery(_assistant, tenant_id=int, slug=str)


def _by_key(key: str, tenant_slug: str) -> Caller | None:
    member = member_by_key(key=key, tenant_slug=tenant_slug)
    return Caller(member) if member else None


def _by_token(token: str, tenant_slug: str, assistant_slug: str, origin: str) -> Caller | None:
    found = end_user_by_token(token=token, tenant_slug=tenant_slug, assistant_slug=assistant_slug, origin=origin)
    if found is None:
        return None
    return Caller(found.member, assistant_id=found.assistant_id, origin=origin, until=found.until)


def _by_session(scope: Mapping[str, Any], headers: Mapping[str, str], tenant_slug: str) -> Caller | None:
    if not is_allowed_origin(headers):
        return None
    session = import_module(settings.SESSION_ENGINE).SessionStore(scope["cookies"].get(settings.SESSION_COOKIE_NAME))
    # Django's own look: the backend is known, and the session was made with the user's present password.
    request = HttpRequest()
    request.session = session
    user = get_user(request)
    member = find_member(user_id=user.pk, tenant_slug=tenant_slug) if user.is_authenticated else None
    return Caller(member, session.session_key or "", session.get(HASH_SESSION_KEY, "")) if member else None
