"""Authenticates callers: finds the member that the credentials of a request belong to.

Doors do not call this module themselves, but `services.callers.doors.admit`, which also applies limits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Literal, Protocol

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import SessionBase

from assistant.models import Assistant
from assistant.services.tenancy.members import Member, find_member, member_by_key
from assistant.services.tenancy.scopes import Rule
from assistant.services.tenancy.sign_in_steps import lack_of

BEARER_SUBPROTOCOL = "bearer."

Reason = Literal[
    "no_credentials", "bad_credentials", "cross_site", "missing_scope", "too_many_requests", "wrong_address"
]


class CredentialKind(Enum):
    """The kinds of credentials."""

    API_KEY = "API key"
    END_USER_TOKEN = "end user's token"  # noqa: S105 - the name of a kind  # nosec B105
    MEMBER_TOKEN = "member's token"  # noqa: S105  # nosec B105
    SESSION = "session"


class AccessDenied(Exception):
    """The caller is not admitted. Each door maps `reason` to its own status; the message is safe to show.

    `wrong_address` covers both a tenant that the caller does not belong to and one that does not exist, so that callers
    cannot tell them apart. `retry_after`, in seconds, is set only for `too_many_requests`.
    """

    def __init__(self, reason: Reason, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """The session of a request from a browser. It is only read if the request has no accepted key or token.

    `user` returns the signed-in user. `is_cross_site` returns whether a page of another site may have made the browser
    send the request; it is called for signed-in users only.
    """

    data: SessionBase
    user: Callable[[], AbstractBaseUser | AnonymousUser]
    is_cross_site: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of a request. `bearer` is an API key, or the token of an end user or member.

    `origin` is that of the page which sends them: an end user's token is valid on allowed ones, a member's on its own.
    """

    bearer: str | None = None
    session: BrowserSession | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """A member who is calling, and the credentials that have to stay valid while a connection of theirs is open.

    `session_key` and `session_hash` are set for a browser's session and for a member's token; `until` for tokens, and
    `origin` for those that are used on a page that has to be allowed.
    """

    member: Member
    session_key: str = ""
    session_hash: str = ""
    origin: str = ""
    until: datetime | None = None


class CallerOfToken(Protocol):
    """Returns the caller of a token that a page of `origin` sends; None if it is not valid there.

    Called with all tenants visible. The slugs are those in the address, empty if it has none.
    """

    def __call__(self, *, token: str, tenant_slug: str, assistant_slug: str, origin: str) -> Caller | None: ...


_tokens: dict[CredentialKind, tuple[str, CallerOfToken]] = {}


def accept_tokens(kind: CredentialKind, *, prefix: str, caller_of: CallerOfToken) -> None:
    """Accept tokens of a kind, which an optional app makes, where a door accepts that kind.

    Args:
        prefix: what they begin with, by which they are told from API keys.
    """
    _tokens[kind] = (prefix, caller_of)


def bearer_of(headers: Mapping[str, str], subprotocols: Sequence[str] = ()) -> str | None:
    """Return the API key or token of a request, or None if it has none.

    Args:
        headers: names in lower case, or a mapping that ignores case.
        subprotocols: those that a websocket's client offers. Browsers cannot set headers there, and send
            `bearer.<key>` instead. Query strings are never read, because they end up in logs.
    """
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    for name in subprotocols:
        if name.startswith(BEARER_SUBPROTOCOL):
            return name.removeprefix(BEARER_SUBPROTOCOL)
    return None


def identify(
    credentials: Credentials, *, accepts: Collection[CredentialKind], tenant_slug: str = "", assistant_slug: str = ""
) -> Caller:
    """Return the member that credentials of the accepted kinds belong to. Call it with all tenants visible.

    The slugs are those in the address, empty if it has none. Sessions and tokens are looked up for that tenant. A key
    has a tenant of its own; `require_address` checks that it is the one in the address.

    Raises:
        AccessDenied: `no_credentials`, `bad_credentials`, `cross_site`, or `wrong_address` for a session.
    """
    bearer = credentials.bearer
    for kind, (prefix, caller_of) in _tokens.items() if bearer is not None else ():
        if kind in accepts and bearer is not None and bearer.startswith(prefix):
            caller = caller_of(
                token=bearer, tenant_slug=tenant_slug, assistant_slug=assistant_slug, origin=credentials.origin
            )
            if caller is None:
                raise _bad_token()
            return caller
    if bearer is not None and CredentialKind.API_KEY in accepts:
        member = member_by_key(key=bearer)
        if member is None:
            raise AccessDenied("bad_credentials", "The API key is unknown, expired or revoked.")
        return Caller(member)
    if credentials.session is not None and CredentialKind.SESSION in accepts:
        return _by_session(credentials.session, tenant_slug)
    raise _no_credentials()


def require_scope(caller: Caller, rule: Rule) -> None:
    """Check that a key or token has the scopes of a rule; a session has all rights of its member.

    Raises:
        AccessDenied: `missing_scope`.
    """
    if caller.member.key_id is not None and not rule.admits(caller.member.scopes):
        raise AccessDenied("missing_scope", f"This key has no {rule} scope.")


def require_address(caller: Caller, *, tenant_slug: str = "", assistant_slug: str = "") -> None:
    """Check that the address is of the caller's tenant and of an active assistant; empty slugs are not checked.

    Raises:
        AccessDenied: `wrong_address`.
    """
    member = caller.member
    if tenant_slug and member.tenant.slug != tenant_slug:
        raise wrong_address()
    active = Assistant.objects.filter(tenant_id=member.tenant_id, is_active=True)
    if assistant_slug and not active.filter(slug=assistant_slug).exists():
        raise wrong_address()


def wrong_address() -> AccessDenied:
    """Return the exception for an address that does not exist, or not for this caller."""
    return AccessDenied("wrong_address", "There is no such thing here.")


def _no_credentials() -> AccessDenied:
    return AccessDenied("no_credentials", "An API key is needed: Authorization: Bearer <key>.")


def _bad_token() -> AccessDenied:
    return AccessDenied("bad_credentials", "The token has expired or was revoked, or is not valid on this page.")


def _by_session(session: BrowserSession, tenant_slug: str) -> Caller:
    user = session.user()
    if not user.is_authenticated:
        raise _no_credentials()
    if session.is_cross_site():
        raise AccessDenied("cross_site", "The CSRF token is missing or wrong.")
    if lack := lack_of(user, session.data):
        raise AccessDenied("no_credentials", lack)
    member = find_member(user_id=user.pk, tenant_slug=tenant_slug)
    if member is None:
        raise wrong_address()
    return Caller(member, session.data.session_key or "", session.data.get(HASH_SESSION_KEY, ""))
