"""Middleware that notes sessions of signed-in people with our pages, each at its beginning and then once an hour."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY, get_user_model
from django.core.cache import cache
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from assistant.contrib.browser_sessions.models import MAX_USER_AGENT, BrowserSession
from assistant.contrib.browser_sessions.stores import can_end_sessions
from assistant.services.addresses import is_own

# The name in a session of the number of its row.
ROW = "assistant_browser_session"
NOTED_EVERY = timedelta(hours=1)


class NoteSessions(MiddlewareMixin):
    """Middleware. Must come after `SessionMiddleware`, which stores the sessions that it changes."""

    def __init__(self, get_response: Any) -> None:
        if not can_end_sessions():
            raise MiddlewareNotUsed
        super().__init__(get_response)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Note the session of a request for a page of ours that has used it; the project's own pages make no query."""
        session = getattr(request, "session", None)
        match = request.resolver_match
        if match is not None and is_own(match) and session is not None and session.accessed and SESSION_KEY in session:
            row = session.get(ROW)
            if row is None or cache.add(f"{ROW}:{row}", True, NOTED_EVERY.total_seconds()):
                note(request)
        return response


def note(request: HttpRequest) -> None:
    """Store that the session of a signed-in person is used now, by which browser and under which key."""
    session = request.session
    person = get_user_model()._meta.pk.to_python(session[SESSION_KEY])
    if not session.session_key:
        session.save()
    values = {
        "session_key": session.session_key,
        "user_agent": request.headers.get("User-Agent", "")[:MAX_USER_AGENT],
        "last_seen_at": timezone.now().replace(minute=0, second=0, microsecond=0),
    }
    rows = BrowserSession.objects.filter(pk=session.get(ROW, 0), user_id=person)
    if not rows.update(**values):
        session[ROW] = BrowserSession.objects.create(user_id=person, **values).pk
