"""A read-only page of members' ratings."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import link, user_column, username
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, ReadsChats, may_show
from assistant.models import Feedback


@admin.register(Feedback)
class FeedbackAdmin(ReadsChats, ReadOnlyAdmin):
    """Members' ratings of answers."""

    permission = "read_chats"
    conversation_path = "message__conversation"
    text_fields = ("message__content",)
    list_display = ("created_at", "rating", "tenant", "member", "answer", "comment")
    list_filter = ("rating", TENANT, "created_at")
    search_fields = ("comment", "message__content", username("user"))
    list_select_related = ("tenant", "user", "message__conversation__tenant")
    exclude = ("message", "user")
    readonly_fields = ("member", "answer")
    member = user_column("user")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list with the answers where these may be shown."""
        found = super().get_changelist_instance(request)
        for row in found.result_list:
            row.is_answer_hidden = not may_show(request, row.message.conversation)
        return found

    @admin.display(description=_("answer"))
    def answer(self, feedback: Any) -> str:
        if getattr(feedback, "is_answer_hidden", False):
            return link(feedback.message, HIDDEN)
        return link(feedback.message, feedback.message.content[:100] or "—")
