"""The Django app of results that come later."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class LaterResultsConfig(OptionalApp):
    name = "assistant.contrib.later_results"
    label = "assistant_later_results"
    verbose_name = "Assistant: results that come later"

    def register(self) -> None:
        from assistant.contrib.later_results.services import retention
        from assistant.services.jobs import jobs
        from assistant.services.toolcalls.later_results import keep_with

        keep_with("assistant.contrib.later_results.keeping.KeptResults")
        jobs.handled_in("assistant.contrib.later_results.services.continuation")
        retention.register()
