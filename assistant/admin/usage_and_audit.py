"""Read-only pages of usage, feedback and the audit trail."""

from __future__ import annotations

from django.contrib import admin

from assistant.admin.filters import ASSISTANT, TENANT
from assistant.admin.links import link, user_column, username
from assistant.admin.tenant_scope import ReadOnlyAdmin
from assistant.models import AuditEntry, Feedback, UsageEntry


@admin.register(UsageEntry)
class UsageEntryAdmin(ReadOnlyAdmin):
    """Token usage, as counted by the providers."""

    list_display = (
        "created_at",
        "tenant",
        "member",
        "assistant",
        "provider",
        "model",
        "input_tokens",
        "output_tokens",
        "cached_input_tokens",
        "reasoning_tokens",
    )
    list_filter = (TENANT, ASSISTANT, "provider", "model", "created_at")
    search_fields = ("model", "provider", username("user"))
    list_select_related = ("tenant", "user", "assistant")
    date_hierarchy = "created_at"
    exclude = ("run", "user")
    readonly_fields = ("member", "run_link")
    member = user_column("user")

    @admin.display(description="run")
    def run_link(self, entry: UsageEntry) -> str:
        return link(entry.run)


@admin.register(Feedback)
class FeedbackAdmin(ReadOnlyAdmin):
    """Members' ratings of answers."""

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


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit trail: who changed which switch, prompt, key or setting."""

    list_display = ("created_at", "tenant", "who", "action", "target")
    list_filter = (TENANT, "action", "created_at")
    search_fields = ("action", "target", username("actor"))
    list_select_related = ("tenant", "actor")
    date_hierarchy = "created_at"
    exclude = ("actor",)
    readonly_fields = ("who",)
    who = user_column("actor")
