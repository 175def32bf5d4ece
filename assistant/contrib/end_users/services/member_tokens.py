"""Tokens that stand for a member's session in the widget.

A token is encrypted, not stored. It names its tenant, assistant, member, session and expiry, and the origin of the page
that asked for it. It ends with its session, with the membership, and by itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from assistant.models import Assistant
from assistant.models.fields import decrypted, encrypted
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import find_member
from assistant.services.tenancy.scopes import OF_TOKENS
from assistant.services.tenancy.sessions import open_session, user_of
from assistant.services.tenancy.sign_in_steps import lack_of
from assistant.toolkit.context import UserId

TOKEN_PREFIX = "mt_"  # noqa: S105 - distinguishes tokens from API keys, not a secret  # nosec B105
_PURPOSE = "member token"


@dataclass(frozen=True, slots=True)
class MemberToken:
    """What the token of a member says. It counts on pages of `origin` alone.

    `is_own`: that is the site's own origin. Others must be allowed, as for end users.
    """

    tenant_id: int
    assistant_id: int
    user: str
    session_key: str
    origin: str
    is_own: bool
    until: datetime


def mint_member_token(
    *, tenant_id: int, assistant_id: int, user_id: UserId, session_key: str, origin: str, is_own: bool, seconds: int
) -> tuple[str, datetime]:
    """Return a token with which a member may use an assistant on pages of `origin` for `seconds`, and its expiry."""
    until = timezone.now().replace(microsecond=0) + timedelta(seconds=seconds)
    values = [_PURPOSE, tenant_id, assistant_id, str(user_id), session_key, origin, is_own, int(until.timestamp())]
    # Websocket subprotocols, as which tokens are sent, may not contain the padding.
    return TOKEN_PREFIX + encrypted(json.dumps(values)).rstrip("="), until


def read_member_token(token: str) -> MemberToken | None:
    """Return what a token says; None if it was not made here, or has expired."""
    stored = token.removeprefix(TOKEN_PREFIX)
    try:
        values = json.loads(decrypted(stored + "=" * (-len(stored) % 4), "the token"))
    except (ImproperlyConfigured, ValueError):
        return None
    if not isinstance(values, list) or values[:1] != [_PURPOSE]:
        return None
    tenant_id, assistant_id, user, session_key, origin, is_own, until = values[1:]
    ends_at = datetime.fromtimestamp(until, UTC)
    found = MemberToken(tenant_id, assistant_id, user, session_key, origin, is_own, ends_at)
    return found if found.until > timezone.now() else None


def caller_of_token(*, token: str, tenant_slug: str, assistant_slug: str, origin: str) -> Caller | None:
    """Return the member of a token that is sent by a page of `origin`; None if it is not valid.

    If `assistant_slug` is not empty, the token must be for that assistant.
    """
    said = read_member_token(token) if settings.ASSISTANT_MEMBER_TOKENS else None
    if said is None:
        return None
    session = open_session(said.session_key)
    user = user_of(session)
    if str(user.pk) != said.user or lack_of(user, session):
        return None
    member = find_member(user_id=user.pk, tenant_slug=tenant_slug)
    assistant = Assistant.objects.filter(pk=said.assistant_id, tenant_id=said.tenant_id, is_active=True)
    if not said.is_own:
        assistant = assistant.filter(widget_origins__origin=origin)
    if assistant_slug:
        assistant = assistant.filter(slug=assistant_slug)
    if origin != said.origin or member is None or member.tenant_id != said.tenant_id or not assistant.exists():
        return None
    return Caller(
        replace(member, scopes=OF_TOKENS, assistant_id=said.assistant_id),
        session_key=said.session_key,
        session_hash=session.get(HASH_SESSION_KEY, ""),
        origin="" if said.is_own else origin,
        until=said.until,
    )
