"""System checks of the list of sessions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, register

from assistant.contrib.browser_sessions.stores import can_end_sessions

MIDDLEWARE = "assistant.contrib.browser_sessions.middleware.NoteSessions"


@register()
def sessions_are_noted(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report what keeps people from seeing their sessions."""
    if not can_end_sessions():
        return [
            checks.Warning(
                "Sessions in signed cookies cannot be ended by the server, so nobody is shown a list of theirs.",
                hint="Set SESSION_ENGINE to one that stores sessions, or take the app out of INSTALLED_APPS.",
                id="assistant_browser_sessions.W001",
            )
        ]
    if MIDDLEWARE not in settings.MIDDLEWARE:
        return [
            checks.Warning(
                f"MIDDLEWARE has no {MIDDLEWARE!r}: people see the session alone that they look at the list with.",
                hint="Put it behind AuthenticationMiddleware.",
                id="assistant_browser_sessions.W002",
            )
        ]
    return []
