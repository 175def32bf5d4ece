"""The Django app of change sets."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class ChangeSetsConfig(OptionalApp):
    name = "assistant.contrib.change_sets"
    label = "assistant_change_sets"
    verbose_name = "Assistant: change sets"

    def register(self) -> None:
        from assistant.contrib.change_sets import retention, shares
        from assistant.services.jobs import jobs
        from assistant.services.runs.extensions.added import add_first_extension

        add_first_extension(
            "change_sets", acts_if=shares.has_shares(), make="assistant.contrib.change_sets.rollout.rolled_out"
        )
        jobs.handled_in("assistant.contrib.change_sets.services.timing")
        retention.register()
