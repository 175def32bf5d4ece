"""The Django app of local models: the embedded one, and calls of tools that models write as text."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class LocalModelConfig(OptionalApp):
    name = "assistant.contrib.local_model"
    label = "assistant_local_model"
    verbose_name = "Assistant: local models"

    def register(self) -> None:
        from assistant.providers import read_texts_with
        from assistant.services import warm_up

        read_texts_with("assistant.contrib.local_model.written_calls.WrittenCalls")
        warm_up.load_early("assistant.contrib.local_model.written_calls")
