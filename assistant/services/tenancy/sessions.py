"""Ends a user's sessions."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session


def end_sessions(user: Any) -> None:
    """Sign a user out everywhere. Reads all sessions, because they say whose they are only inside."""
    sessions = [row.pk for row in Session.objects.iterator() if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=sessions).delete()
