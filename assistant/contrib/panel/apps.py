"""The Django app of the control panel."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class PanelConfig(OptionalApp):
    name = "assistant.contrib.panel"
    label = "assistant_panel"
    verbose_name = "Assistant: control panel"

    def register(self) -> None:
        from assistant.services.jobs import jobs

        jobs.handled_in("assistant.contrib.panel.services.scheduled_prompts")
