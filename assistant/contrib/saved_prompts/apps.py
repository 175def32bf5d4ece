"""The Django app of saved prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp

if TYPE_CHECKING:
    from assistant.services.tenancy.members import Member


class SavedPromptsConfig(OptionalApp):
    name = "assistant.contrib.saved_prompts"
    label = "assistant_saved_prompts"
    verbose_name = "Assistant: saved prompts"

    def register(self) -> None:
        from assistant.contrib.saved_prompts import scopes
        from assistant.pages import member_links
        from assistant.services import composer_parts
        from assistant.services.privacy import leaving_rules
        from assistant.services.tenancy.scopes import add_rules

        add_rules(rest=scopes.REST)
        composer_parts.add_to_composer(
            script="assistant/saved_prompts/prompts.js",
            url_name="saved-prompts",
            key="/",
            has_assistant=False,
            is_for=_is_member,
        )
        member_links.add_link(
            "assistant:prompts",
            _("Saved prompts"),
            icon="assistant/saved_prompts/icon.html",
            is_for=_is_member,
        )
        leaving_rules.delete_with("assistant.contrib.saved_prompts.services.managing.delete_of_leaving")


def _is_member(*, member: Member) -> bool:
    """Whether somebody is no visitor of a widget: what a tenant's people ask is not for those."""
    return not member.is_end_user
