"""The Django app of collections of documents."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class CollectionsConfig(OptionalApp):
    name = "assistant.contrib.collections"
    label = "assistant_collections"
    verbose_name = "Assistant: collections of documents"

    def register(self) -> None:
        from assistant.contrib.collections import signals
        from assistant.contrib.collections.scopes import REST
        from assistant.services.knowledge.places import place_with
        from assistant.services.knowledge.reach import narrow_with
        from assistant.services.knowledge.source_changes import tell_changes_with
        from assistant.services.tenancy.scopes import add_rules

        narrow_with("assistant.contrib.collections.services.access.narrowing_of")
        place_with("assistant.contrib.collections.services.places.PLACES")
        tell_changes_with("assistant.contrib.collections.services.row_changes.changed_later")
        add_rules(rest=REST)
        signals.connect()
