"""The Django app of sessions in browsers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class BrowserSessionsConfig(OptionalApp):
    name = "assistant.contrib.browser_sessions"
    label = "assistant_browser_sessions"
    verbose_name = _("Assistant: sessions in browsers")

    def register(self) -> None:
        from assistant.contrib.browser_sessions import checks  # noqa: F401 - registers the checks
        from assistant.pages import added_parts
        from assistant.services.jobs.jobs import handled_in

        added_parts.add_part("account", "assistant/browser_sessions/sessions.html", context=_sessions)
        handled_in("assistant.contrib.browser_sessions.deleting")


def _sessions(request: HttpRequest) -> Mapping[str, Any] | None:
    from assistant.contrib.browser_sessions.listing import sessions_of
    from assistant.contrib.browser_sessions.middleware import note
    from assistant.contrib.browser_sessions.stores import can_end_sessions

    if not can_end_sessions():
        return None
    note(request)
    return {"browser_sessions": sessions_of(request)}
