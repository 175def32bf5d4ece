"""The Django app of stored sessions."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class SessionsConfig(OptionalApp):
    name = "assistant.contrib.sessions"
    label = "assistant_sessions"
    verbose_name = "Assistant: sessions of programs"

    def register(self) -> None:
        from assistant.contrib.sessions import retention

        retention.register()
