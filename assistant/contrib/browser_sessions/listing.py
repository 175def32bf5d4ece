"""Lists the sessions of a person, and signs them out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from assistant.contrib.browser_sessions.browsers import Browser, browser_of
from assistant.contrib.browser_sessions.middleware import ROW
from assistant.contrib.browser_sessions.models import BrowserSession
from assistant.models import Tenant
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.sessions import open_session, user_of

# Sessions that are listed, the last seen first, and signed out at once.
MAX_SESSIONS = 100
HOURS_OF_A_DAY = 24


@dataclass(frozen=True, slots=True)
class Listed:
    """A session that has not ended, as its person is shown it."""

    pk: int
    browser: Browser
    last_seen_at: datetime
    is_current: bool

    @property
    def last_seen(self) -> str:
        """How long ago it was last seen, in whole hours or days."""
        if self.is_current:
            return gettext("This browser, now")
        hours = (timezone.now() - self.last_seen_at) // timedelta(hours=1)
        if hours < 1:
            return gettext("Last seen in this hour")
        if hours < HOURS_OF_A_DAY:
            return ngettext("Last seen %(count)d hour ago", "Last seen %(count)d hours ago", hours) % {"count": hours}
        days = hours // HOURS_OF_A_DAY
        return ngettext("Last seen %(count)d day ago", "Last seen %(count)d days ago", days) % {"count": days}


def sessions_of(request: HttpRequest) -> list[Listed]:
    """Return the sessions of the signed-in person, that of the request first; rows of ended ones are deleted."""
    listed = sessions_of_person(request.user, current=request.session.get(ROW))
    return sorted(listed, key=lambda one: not one.is_current)


def sessions_of_person(user: Any, *, current: int | None = None) -> list[Listed]:
    """Return the sessions of a person, the last seen first; rows of ended ones are deleted.

    Args:
        current: the row of the session that asks, if it is theirs.
    """
    live = []
    ended = []
    for row in _rows(user)[:MAX_SESSIONS]:
        if _is_live(row):
            live.append(Listed(row.pk, browser_of(row.user_agent), row.last_seen_at, row.pk == current))
        else:
            ended.append(row.pk)
    _rows(user).filter(pk__in=ended).delete()
    return live


def sign_out(request: HttpRequest, pk: int) -> int:
    """End one other session of the signed-in person; return how many were ended: none if it is not theirs."""
    return _end(request.user, _others(request).filter(pk=pk))


def sign_out_others(request: HttpRequest) -> int:
    """End all sessions of the signed-in person but that of the request, `MAX_SESSIONS` at once; return their number."""
    return _end(request.user, _others(request))


def sign_person_out(user: Any, pk: int | None, *, actor: audit_trail.Actor, tenant: Tenant) -> int:
    """End sessions of another person; return how many were ended.

    Args:
        pk: the row of one; None for all of them, `MAX_SESSIONS` at once.
        actor: who does it, for the audit.
        tenant: the one in which they administer the person.
    """
    rows = _rows(user)
    return _end(user, rows if pk is None else rows.filter(pk=pk), actor=actor, tenant=tenant)


def _rows(user: Any) -> QuerySet[BrowserSession]:
    return BrowserSession.objects.filter(user_id=user.pk).order_by("-last_seen_at", "-pk")


def _others(request: HttpRequest) -> QuerySet[BrowserSession]:
    return _rows(request.user).exclude(pk=request.session.get(ROW, 0))


def _is_live(row: BrowserSession) -> bool:
    """Return whether a session still counts: it is stored, of this person, and their password is as it was."""
    return bool(user_of(open_session(row.session_key)).pk == row.user_id)


def _end(
    user: Any, rows: QuerySet[BrowserSession], *, actor: audit_trail.Actor = None, tenant: Tenant | None = None
) -> int:
    ended = list(_ended(rows[:MAX_SESSIONS]))
    _rows(user).filter(pk__in=[row.pk for row in ended]).delete()
    if ended:
        names = [str(browser_of(row.user_agent)) for row in ended]
        audit_trail.record(
            actor=actor or user,
            action="sessions.sign_out",
            target=f"user {user.pk}",
            tenant=tenant,
            details={"browsers": names},
        )
    return len(ended)


def _ended(rows: QuerySet[BrowserSession]) -> Iterator[BrowserSession]:
    """End sessions in their store: their next request is nobody's, and the check of open connections closes theirs."""
    for row in rows:
        open_session(row.session_key).delete()
        yield row
