"""The Django app of gaps in documents."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class GapsConfig(OptionalApp):
    name = "assistant.contrib.gaps"
    label = "assistant_gaps"
    verbose_name = "Assistant: gaps in documents"

    def register(self) -> None:
        from assistant.contrib.gaps import scopes
        from assistant.contrib.gaps.services import changes, retention
        from assistant.services.jobs import jobs
        from assistant.services.knowledge.labels import label_with
        from assistant.services.knowledge.source_changes import listen_with
        from assistant.services.knowledge.trust import doubt_with
        from assistant.services.tenancy.scopes import add_rules, add_scope

        add_scope(scopes.KNOWLEDGE, _("knowledge: see what documents do not answer, and label questions"))
        add_rules(rest=scopes.REST)
        label_with("assistant.contrib.gaps.services.labels.labels_of")
        doubt_with("assistant.contrib.gaps.services.doubts.doubted_documents")
        listen_with("assistant.contrib.gaps.services.changes.order_check")
        jobs.handled_in("assistant.contrib.gaps.services.recording")
        jobs.handled_in("assistant.contrib.gaps.services.checking")
        retention.register()
        changes.connect()
