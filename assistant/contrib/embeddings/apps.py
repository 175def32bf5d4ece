"""The Django app of search by meaning."""

from __future__ import annotations

from types import ModuleType

from django.conf import settings

from assistant.optional_apps import OptionalApp


class EmbeddingsConfig(OptionalApp):
    name = "assistant.contrib.embeddings"
    label = "assistant_embeddings"
    verbose_name = "Assistant: search by meaning"

    def __init__(self, app_name: str, app_module: ModuleType | None) -> None:
        super().__init__(app_name, app_module)
        if settings.ASSISTANT_EMBEDDINGS:
            self.packages = {"numpy": "embeddings"}

    def register(self) -> None:
        from assistant.contrib.embeddings.services import changes
        from assistant.services.jobs import jobs
        from assistant.services.knowledge.rankings import rank_with

        rank_with("assistant.contrib.embeddings.services.ranking.rank_each")
        jobs.handled_in("assistant.contrib.embeddings.services.filling")
        changes.connect()
