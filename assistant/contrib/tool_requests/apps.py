"""The Django app of requests for tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp

if TYPE_CHECKING:
    from assistant.services.tenancy.members import Member


class ToolRequestsConfig(OptionalApp):
    name = "assistant.contrib.tool_requests"
    label = "assistant_tool_requests"
    verbose_name = "Assistant: requests for tools"

    def register(self) -> None:
        from assistant.contrib.tool_requests import scopes
        from assistant.pages import conversation_menu
        from assistant.services import shown_notices
        from assistant.services.privacy import leaving_rules
        from assistant.services.tenancy.scopes import CHAT, READ, Rule, add_rules
        from assistant.websocket import added_frames
        from assistant.websocket.added_frames import AddedFrame

        add_rules(rest=scopes.REST, frames={"tool_requests": Rule((READ,)), "tool_requests.seen": Rule((CHAT,))})
        added_frames.handle_frames(
            {
                "tool_requests": AddedFrame(
                    "Subscribe to the member's requests for tools that wait or have an answer they have not seen: a "
                    "CUSTOM event named tool_requests lists them now and on every change."
                ),
                "tool_requests.seen": AddedFrame(
                    "Say that the member has seen the answer to a request.",
                    required={"id": {"type": "integer"}},
                ),
            },
            handler="assistant.contrib.tool_requests.frames.RequestFrames",
        )
        shown_notices.show_notice("tool_requests", script="assistant/tool_requests/answers.js", is_on=lambda: True)
        conversation_menu.add_entry(
            "ask-for-tool",
            _("Ask for a tool…"),
            script="assistant/tool_requests/dialog.js",
            dialog="assistant/tool_requests/dialog.html",
            is_for=_is_member,
            offers_refused=True,
        )
        leaving_rules.delete_with("assistant.contrib.tool_requests.services.asking.delete_of_leaving")


def _is_member(*, member: Member) -> bool:
    """Whether somebody is no visitor of a widget: visitors do not know the tenant's admins."""
    return not member.is_end_user
