"""The Django app of local models: the embedded one, and calls of tools that models write as text."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class LocalModelConfig(OptionalApp):
    name = "assistant.contrib.local_model"
    label = "assistant_local_model"
    verbose_name = "Assistant: local models"

    def register(self) -> None:
        from assistant.contrib.local_model.written_calls import WrittenCalls
        from assistant.providers.text_reading import read_texts_with

        read_texts_with(WrittenCalls)
