"""The Django app of exports and imports of conversations, and of what is stored of a member."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class ConversationExportsConfig(OptionalApp):
    name = "assistant.contrib.conversation_exports"
    label = "assistant_conversation_exports"
    verbose_name = "Assistant: exports of conversations"

    def register(self) -> None:
        from assistant.pages import added_parts, conversation_menu
        from assistant.services.tenancy.scopes import READ, Rule, add_rules

        add_rules(rest={"conversations/<uuid:thread>/export/": {"GET": Rule((READ,))}})
        script = "assistant/conversation_exports/export.js"
        conversation_menu.add_entry("markdown", _("Export as Markdown"), script=script)
        conversation_menu.add_entry("json", _("Export as JSON"), script=script)
        added_parts.add_part(
            "own-things", "assistant/conversation_exports/own_data_link.html", context=lambda request: {}
        )
        conversation_menu.add_below_list(
            "import", _("Import a conversation"), script="assistant/conversation_exports/import.js"
        )
