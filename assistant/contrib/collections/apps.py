"""The Django app of collections of documents."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class CollectionsConfig(OptionalApp):
    name = "assistant.contrib.collections"
    label = "assistant_collections"
    verbose_name = "Assistant: collections of documents"

    def register(self) -> None:
        from assistant.services.knowledge.reach import narrow_with

        narrow_with("assistant.contrib.collections.services.access.narrowing_of")
