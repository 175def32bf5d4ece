"""The Django app of shared conversations."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class SharesConfig(OptionalApp):
    name = "assistant.contrib.shares"
    label = "assistant_shares"
    verbose_name = "Assistant: shared conversations"

    def register(self) -> None:
        from assistant.contrib.shares import scopes
        from assistant.contrib.shares.switches import may_share
        from assistant.pages import conversation_menu
        from assistant.services.privacy import leaving_rules
        from assistant.services.tenancy.scopes import add_rules

        add_rules(rest=scopes.REST)
        conversation_menu.add_entry(
            "share",
            _("Share…"),
            script="assistant/shares/dialog.js",
            dialog="assistant/shares/dialog.html",
            is_for=may_share,
        )
        leaving_rules.delete_with("assistant.contrib.shares.links.revoke_shares_of")
