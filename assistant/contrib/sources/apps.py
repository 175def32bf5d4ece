"""The Django app of folders and websites."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class SourcesConfig(OptionalApp):
    name = "assistant.contrib.sources"
    label = "assistant_sources"
    verbose_name = "Assistant: folders and websites"

    def register(self) -> None:
        from assistant.services.jobs import jobs
        from assistant.services.knowledge.source_changes import KEEPERS, tell_changes_with

        KEEPERS.append("assistant_sources.SourcePage")
        tell_changes_with("assistant.contrib.sources.services.changes.changed_later")
        jobs.handled_in("assistant.contrib.sources.services.jobs")
