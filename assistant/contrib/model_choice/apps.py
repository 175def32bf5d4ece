"""The Django app of the choice of models."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class ModelChoiceConfig(OptionalApp):
    name = "assistant.contrib.model_choice"
    label = "assistant_model_choice"
    verbose_name = "Assistant: choice of models"

    def register(self) -> None:
        from assistant.services import composer_parts

        # The page's own box: the widget is narrow, and offers models below an answer.
        composer_parts.add_to_composer(
            script="assistant/model_choice/choice.js",
            mark='#chat[data-models]:not([data-models="[]"]) #message',
        )
