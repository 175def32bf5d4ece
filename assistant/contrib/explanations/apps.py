"""The Django app of *Why this answer?*."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class ExplanationsConfig(OptionalApp):
    name = "assistant.contrib.explanations"
    label = "assistant_explanations"
    verbose_name = "Assistant: why an answer is so"

    def register(self) -> None:
        from assistant.services.conversations.added_details import explain_with

        explain_with("assistant.contrib.explanations.explaining.explanations_of")
