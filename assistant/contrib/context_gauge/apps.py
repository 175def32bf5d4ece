"""The Django app of the gauge of the context."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp

NAME = "context"


class ContextGaugeConfig(OptionalApp):
    name = "assistant.contrib.context_gauge"
    label = "assistant_context_gauge"
    verbose_name = "Assistant: gauge of the context"

    def register(self) -> None:
        from assistant.services.conversations.added_details import add_detail

        add_detail(
            NAME,
            read="assistant.contrib.context_gauge.reading.used_context",
            script="assistant/context_gauge/gauge.js",
            for_all=True,
        )
