"""Sessions of members: opens and ends them, and makes the tokens that stand for one in the widget.

A token is encrypted, not stored. It names its tenant, assistant, member, session and expiry, and the origin of the page
that asked for it. It ends with its session, with the membership, and by itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.models import Session
from django.core.exceptions import ImproperlyConfigured
from django.http.request import HttpRequest
from django.utils import timezone

from assistant.models.fields import decrypted, encrypted
from assistant.services.db.fast_paths.value_lists import any_of
from assistant.toolkit.context import UserId

TOKEN_PREFIX = "mt_"  # noqa: S105 - distinguishes tokens from API keys, not a secret  # nosec B105
_PURPOSE = "member token"


def open_session(key: str | None) -> SessionBase:
    """Return the session with a key; an empty one if there is none. It is read when it is used."""
    session: SessionBase = import_module(settings.SESSION_ENGINE).SessionStore(key)
    return session


def user_of(session: SessionBase) -> Any:
    """Return the user of a session, by Django's own checks: a known backend, and an unchanged password."""
    request = HttpRequest()
    request.session = session
    return get_user(request)


def live_sessions(keys: Collection[str]) -> set[str]:
    """Return those of the keys whose sessions have not ended. Of sessions in the database it runs one query."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    if not issubclass(store, DatabaseStore):
        return {key for key in keys if SESSION_KEY in store(key)}
    rows = store.get_model_class().objects.filter(session_key__in=any_of(keys), expire_date__gt=timezone.now())
    return set(rows.values_list("session_key", flat=True))


def end_sessions(user: Any) -> None:
    """Sign a user out everywhere. Reads all sessions, because only their content names the user."""
    sessions = [row.pk for row in Session.objects.iterator() if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=sessions).delete()


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


def is_member_token(credentials: str) -> bool:
    """Return whether credentials have the form of a member's token."""
    return credentials.startswith(TOKEN_PREFIX)


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
