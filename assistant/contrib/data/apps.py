"""The Django app of read tools over a project's own models."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class DataConfig(OptionalApp):
    name = "assistant.contrib.data"
    label = "assistant_data"
    verbose_name = "Assistant: your own data"

    def register(self) -> None:
        from assistant.contrib.data import checks  # noqa: F401 - registers the checks
        from assistant.contrib.data.exposing import declared
        from assistant.contrib.data.exposing_views import declared_viewsets
        from assistant.contrib.data.scopes import REST
        from assistant.contrib.data.services import row_signals
        from assistant.services import composer_parts
        from assistant.services.conversations.added_details import add_detail
        from assistant.services.jobs import jobs
        from assistant.services.knowledge.reach import narrow_with
        from assistant.services.knowledge.visible_rows import see_rows_with
        from assistant.services.runs.input import added_options
        from assistant.services.tenancy import scopes
        from assistant.services.toolpolicy import added_rules

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
        if declared() or declared_viewsets():
            from assistant.contrib.data.services import personal_values, reviews

            added_rules.read_only_if(reviews.read_only_reason)
            added_rules.ask_if(personal_values.reason_to_ask)
        if declared():
            add_detail(
                "data",
                read="assistant.contrib.data.services.shown_results.shown_results",
                script="assistant/data/results.js",
                note="assistant.contrib.data.services.shown_results.note_of",
                share="assistant.contrib.data.services.shown_results.for_readers_of_a_link",
                for_all=True,
            )
            composer_parts.add_to_composer(
                script="assistant/data/rows.js",
                url_name="rows",
                mark="[data-assistant-row]",
                key="@",
                query="about",
            )
