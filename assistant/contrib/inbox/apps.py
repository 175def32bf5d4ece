"""The Django app of what waits for people."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class InboxConfig(OptionalApp):
    name = "assistant.contrib.inbox"
    label = "assistant_inbox"
    verbose_name = "Assistant: inbox"

    def register(self) -> None:
        from assistant.pages import added_settings, member_links
        from assistant.services import loop_services, shown_notices
        from assistant.services.jobs import jobs
        from assistant.services.tenancy.scopes import CHAT, READ, Rule, add_rules
        from assistant.websocket import added_frames
        from assistant.websocket.added_frames import AddedFrame

        add_rules(frames={"inbox": Rule((READ,)), "inbox.seen": Rule((CHAT,))})
        added_frames.handle_frames(
            {
                "inbox": AddedFrame(
                    "Subscribe to what waits for the member over all conversations: a CUSTOM event named inbox lists "
                    "it now and on every change."
                ),
                "inbox.seen": AddedFrame(
                    "Say that the member has seen a conversation to its end.",
                    required={"threadId": {"type": "string", "format": "uuid"}},
                ),
            },
            handler="assistant.contrib.inbox.frames.InboxFrames",
        )
        loop_services.add_service("assistant.contrib.inbox.services.notices.RunWatch")
        shown_notices.show_notice("inbox", script="assistant/inbox/inbox.js", is_on=lambda: True)
        member_links.add_place("assistant:inbox", _("Inbox"), icon="assistant/inbox/icon.html", count="inbox")
        added_settings.ask_for("assistant.contrib.inbox.settings_form.form_of")
        jobs.handled_in("assistant.contrib.inbox.services.mails")
