"""The Django app of read tools over a project's own models."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class DataConfig(OptionalApp):
    name = "assistant.contrib.data"
    label = "assistant_data"
    verbose_name = "Assistant: your own data"

    def register(self) -> None:
        from assistant.contrib.data import checks  # noqa: F401 - registers the checks
        from assistant.contrib.data.exposing_views import declared_viewsets
        from assistant.contrib.data.scopes import REST
        from assistant.contrib.data.services import row_signals
        from assistant.contrib.data.services.following import follow
        from assistant.contrib.data.services.offering import offer
        from assistant.services import loop_services
        from assistant.services.jobs import jobs
        from assistant.services.knowledge.reach import narrow_with
        from assistant.services.knowledge.source_changes import KEEPERS
        from assistant.services.knowledge.visible_rows import see_rows_with
        from assistant.services.runs.input import added_options
        from assistant.services.tenancy import scopes

        KEEPERS.append("assistant_data.RowDocument")
        see_rows_with("assistant.contrib.data.services.documents.visible_keys")
        added_options.add_option(
            "rows",
            parse="assistant.contrib.data.services.rows_on_screen.parse_rows",
            make="assistant.contrib.data.services.rows_on_screen.rows_on_screen",
        )
        scopes.add_rules(rest=REST)
        # Also where no source is declared any more: what was made of rows before stays with them.
        narrow_with("assistant.contrib.data.services.row_documents.narrowing_of")
        jobs.handled_in("assistant.contrib.data.services.row_changes")
        row_signals.connect()

        if declared_viewsets():
            self.packages = {"drf_spectacular": "api-docs"}
        # The core has collected the tools, and so what is exposed, before.
        offer()
        loop_services.add_service("assistant.contrib.data.services.following.Follower")
        follow()
