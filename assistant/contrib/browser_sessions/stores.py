"""Which of Django's session engines can end a session."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.contrib.sessions.backends.signed_cookies import SessionStore as CookieStore


def can_end_sessions() -> bool:
    """Return whether sessions are kept by this server: those in signed cookies are valid wherever there is a copy."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    return not issubclass(store, CookieStore)
