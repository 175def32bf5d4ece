"""The Django app of invitations."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class InvitationsConfig(OptionalApp):
    name = "assistant.contrib.invitations"
    label = "assistant_invitations"
    verbose_name = "Assistant: invitations"

    def register(self) -> None:
        from assistant.contrib.invitations import ended_rows
        from assistant.services.privacy import erasure_rules, retention_rules

        retention_rules.keep_for("audit", ended_rows.ended_before)
        erasure_rules.erase_with(ended_rows.delete_those_of)
