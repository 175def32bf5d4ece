"""The Django app of the embedded model."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class LocalModelConfig(OptionalApp):
    name = "assistant.contrib.local_model"
    label = "assistant_local_model"
    verbose_name = "Assistant: embedded model"
