"""A read-only page of members' ratings."""

from __future__ import annotations

from django.contrib import admin

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import link, user_column, username
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.models import Feedback


@admin.register(Feedback)
class FeedbackAdmin(ReadOnlyAdmin):
    """Members' ratings of answers."""

    permission = "read_chats"
    list_display = ("created_at", "rating", "tenant", "member", "answer", "comment")
    list_filter = ("rating", TENANT, "created_at")
    search_fields = ("comment", "message__content", username("user"))
    list_select_related = ("tenant", "user", "message")
    exclude = ("message", "user")
    readonly_fields = ("member", "answer")
    member = user_column("user")

    @admin.display(description="answer")
    def answer(self, feedback: Feedback) -> str:
        return link(feedback.message, feedback.message.content[:100] or "—")
