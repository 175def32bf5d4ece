"""The Django app of reasons of calls."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp

NAME = "reasons"


class ReasonsConfig(OptionalApp):
    name = "assistant.contrib.reasons"
    label = "assistant_reasons"
    verbose_name = "Assistant: reasons of calls"

    def register(self) -> None:
        from assistant.services.runs.extensions.added import add_run_extension

        add_run_extension(
            NAME,
            title=_("Reasons: the model says with each call of a tool why it calls, and how sure it is"),
            make="assistant.contrib.reasons.extension.reasons_of",
        )
