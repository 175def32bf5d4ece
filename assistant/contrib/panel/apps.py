"""The Django app of the control panel."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class PanelConfig(OptionalApp):
    name = "assistant.contrib.panel"
    label = "assistant_panel"
    verbose_name = "Assistant: control panel"

    def register(self) -> None:
        from assistant.services.jobs import jobs
        from assistant.services.runs.input.added_options import add_option
        from assistant.services.runs.prompt_tests import test_with

        jobs.handled_in("assistant.contrib.panel.services.scheduled_prompts")
        jobs.handled_in("assistant.contrib.panel.sums.summing")
        tests = "assistant.contrib.panel.services.prompt_tests.testing"
        test_with(f"{tests}.ChatTests")
        for name, parse in (("promptVersion", "version"), ("testTools", "tools"), ("takenQuestion", "taken")):
            add_option(name, parse=f"{tests}.parse_{parse}", make=f"{tests}.no_extensions")
