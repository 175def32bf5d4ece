"""The Django app of receipts."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp

NAME = "receipts"


class ReceiptsConfig(OptionalApp):
    name = "assistant.contrib.receipts"
    label = "assistant_receipts"
    verbose_name = "Assistant: receipts"
    packages = {"babel": "receipts"}

    def register(self) -> None:
        from assistant.contrib.receipts.services import retention
        from assistant.services import tenant_events
        from assistant.services.conversations.added_details import add_detail
        from assistant.services.runs.extensions.added import add_run_extension

        add_run_extension(
            NAME,
            title=_("Receipts: values in answers are tied to where they came from"),
            make="assistant.contrib.receipts.services.tying.receipts_of",
        )
        add_detail(
            NAME,
            read="assistant.contrib.receipts.services.reading.shown_receipts",
            script="assistant/receipts/receipts.js",
            event="answer.receipts",
            annotate="assistant.contrib.receipts.services.telling.annotations_of",
            note="assistant.contrib.receipts.services.telling.note_of",
            share="assistant.contrib.receipts.services.readers.for_readers_of_a_link",
            count="assistant.contrib.receipts.services.counting.counts_of",
            left_out="assistant.contrib.receipts.services.telling.left_out_of",
        )
        retention.register()
        tenant_events.add_event(
            "answer.unsupported",
            _("answer.unsupported: an answer has values or claims actions that no source supports"),
        )
