"""Read-only pages of conversations, messages and runs, linked to each other."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.filters import TENANT, AssistantFilter, RunStatusFilter, awaits_approval
from assistant.admin.base.links import assistant_column, link, link_to_list, user_column, username
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.models import Conversation, Message, Run, ToolCall
from assistant.services.conversations.message_search import with_words
from assistant.services.conversations.stored_messages import text_of, to_message

SHOWN_MESSAGES = 50


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    """Conversations, with their last messages and links to their runs."""

    permission = "read_chats"
    list_display = ("__str__", "tenant", "member", assistant_column, "created_at", "updated_at")
    list_filter = (TENANT, AssistantFilter, "updated_at")
    search_fields = ("title", username("user"), "id")
    list_select_related = ("tenant", "user", "assistant__tenant")
    search_help_text = gettext_lazy("Title, member or id; and words of a message, in the newest 2,000 conversations.")
    date_hierarchy = "updated_at"
    fields = (
        "id",
        "title",
        "tenant",
        "member",
        "assistant",
        "created_at",
        "updated_at",
        "pages",
        "summary",
        "transcript",
    )
    readonly_fields = ("member", "pages", "transcript")
    member = user_column("user")

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> tuple[Any, bool]:
        """Search titles, members and ids, and the messages of the newest conversations for all of the words."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if not search_term.strip():
            return found, may_repeat
        return found | queryset.filter(pk__in=with_words(queryset, search_term)), may_repeat

    @admin.display(description="see also")
    def pages(self, conversation: Conversation) -> SafeString:
        return format_html(
            "{} · {} · {}",
            link_to_list(Run, "Runs", conversation__id__exact=conversation.pk),
            link_to_list(ToolCall, "Tool calls", run__conversation__id__exact=conversation.pk),
            link_to_list(Message, "All messages", conversation__id__exact=conversation.pk),
        )

    @admin.display(description="last messages")
    def transcript(self, conversation: Conversation) -> SafeString:
        newest = conversation.messages.select_related("run").order_by("-position")[:SHOWN_MESSAGES]
        rows = (
            (message.role, message.get_role_display(), link(message.run, "run"), text_of(to_message(message)))
            for message in reversed(newest)
        )
        body = format_html_join("", '<li class="{}"><strong>{}</strong> {}<pre>{}</pre></li>', rows)
        return format_html('<ol class="transcript">{}</ol>', body)


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    """A searchable list of messages."""

    permission = "read_chats"
    tenant_path = "conversation__tenant"
    list_display = ("position", "role", "beginning", "conversation_link", "run_link", "is_partial", "created_at")
    list_display_links = ("beginning",)
    list_filter = (("conversation__tenant", RelatedOnlyFieldListFilter), "role", "is_partial", "created_at")
    search_fields = ("content", "message_id")
    list_select_related = ("conversation", "run")
    ordering = ("-created_at", "-position")
    fields = (
        "conversation_link",
        "run_link",
        "position",
        "message_id",
        "role",
        "content",
        "reasoning",
        "tool_calls",
        "tool_call_id",
        "is_partial",
        "created_at",
    )
    readonly_fields = ("conversation_link", "run_link")

    @admin.display(description="content", ordering="content")
    def beginning(self, message: Message) -> str:
        return message.content[:100] or "—"

    @admin.display(description="conversation")
    def conversation_link(self, message: Message) -> str:
        return link(message.conversation)

    @admin.display(description="run")
    def run_link(self, message: Message) -> str:
        return link(message.run)

    def lookup_allowed(self, lookup: str, value: str, request: object = None) -> bool:
        return lookup == "conversation__id__exact" or super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Runs: the model that answered, the outcome, tokens and time."""

    permission = "read_chats"
    list_display = (
        "started_at",
        "state",
        "tenant",
        "member",
        assistant_column,
        "conversation_link",
        "tokens",
        "error_code",
        "model",
    )
    list_filter = (RunStatusFilter, TENANT, AssistantFilter, "error_code", "model", "started_at")
    search_fields = ("run_id", username("user"), "conversation__title", "error_message")
    list_select_related = ("tenant", "user", "assistant__tenant", "conversation")
    date_hierarchy = "started_at"
    fields = (
        "run_id", "number", "follows", "state", "tenant", "member", "assistant", "api_key", "conversation_link",
        "tool_calls_link", "prompt_version", "provider_name", "model", "input_tokens", "output_tokens",
        "first_token_ms", "error_code", "error_message", "started_at", "ended_at", "cancel_requested_at",
        "lease_until",
    )  # fmt: skip
    readonly_fields = ("state", "member", "conversation_link", "tool_calls_link")
    member = user_column("user")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        rows: QuerySet[Run] = super().get_queryset(request).annotate(awaits=awaits_approval())
        return rows

    @admin.display(description=gettext_lazy("status"), ordering="status")
    def state(self, run: Any) -> str:
        """Return the status. A run whose approval was answered stays `waiting`, because another run continues it."""
        if run.status != Run.Status.WAITING or run.awaits:
            return str(run.get_status_display())
        return gettext("Answered; another run went on")

    @admin.display(description="tokens", ordering="output_tokens")
    def tokens(self, run: Run) -> str:
        return f"{run.input_tokens} in, {run.output_tokens} out"

    @admin.display(description="conversation")
    def conversation_link(self, run: Run) -> str:
        return link(run.conversation)

    @admin.display(description="tool calls")
    def tool_calls_link(self, run: Run) -> SafeString:
        return link_to_list(ToolCall, f"{run.tool_calls.count()} tool calls", run__id__exact=run.pk)

    def lookup_allowed(self, lookup: str, value: str, request: object = None) -> bool:
        return lookup == "conversation__id__exact" or super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]
