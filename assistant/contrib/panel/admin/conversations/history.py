"""Read-only pages of messages and runs, linked to their conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.filters import TENANT, AssistantFilter, NewestValuesFilter, TenantFilter
from assistant.admin.base.links import assistant_column, link, link_to_list, user_column, username
from assistant.admin.base.long_lists import LongList
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.admin.base.visible_tenants import is_list, tenants_of
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, ReadsChats, may_show, shown_in_lists
from assistant.contrib.panel.admin.conversations.run_filters import RunStatusFilter, awaits_approval
from assistant.contrib.panel.admin.conversations.run_sections import sections_of
from assistant.contrib.panel.admin.conversations.texts_in_looks import last_exchange
from assistant.contrib.panel.admin.conversations.thread import may_try, shown_waterfall
from assistant.contrib.panel.admin.lists.cells import money_of, state
from assistant.contrib.panel.admin.lists.costs import cost_by, cost_of_all
from assistant.contrib.panel.admin.lists.list_parts import ListParts, whole_number
from assistant.contrib.panel.admin.lists.states import ErrorFilter, error_words, state_of_run
from assistant.contrib.panel.reports.waterfall import waterfalls
from assistant.models import Message, Run, ToolCall


@admin.register(Message)
class MessageAdmin(LongList, ReadsChats, ReadOnlyAdmin):
    """A searchable list of messages, without those that can only be read with a reason."""

    permission = "read_chats"
    conversation_path = "conversation"
    tenant_path = "conversation__tenant"
    list_display = ("position", "role", "beginning", "conversation_link", "run_link", "is_partial", "created_at")
    list_display_links = ("beginning",)
    list_filter = (("conversation__tenant", TenantFilter), "role", "is_partial", "created_at")
    search_fields = ("content", "message_id")
    list_select_related = ("conversation__tenant", "run")
    # Not by time, which has no index: rows are stored in this order.
    ordering = ("-pk",)
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

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        rows: QuerySet[Message] = super().get_queryset(request)
        return rows.filter(shown_in_lists(request, self.conversation_path)) if is_list(request) else rows

    @admin.display(description=gettext_lazy("content"), ordering="content")
    def beginning(self, message: Message) -> str:
        return message.content[:100] or "—"

    @admin.display(description=gettext_lazy("conversation"))
    def conversation_link(self, message: Message) -> str:
        return link(message.conversation)

    @admin.display(description=gettext_lazy("run"))
    def run_link(self, message: Message) -> str:
        return link(message.run)

    def lookup_allowed(self, lookup: str, value: str, request: object = None) -> bool:
        return lookup == "conversation__id__exact" or super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]


@admin.register(Run)
class RunAdmin(LongList, ReadsChats, ReadOnlyAdmin, ListParts):
    """Runs: the model that answered, the outcome, tokens and time."""

    permission = "read_chats"
    conversation_path = "conversation"
    text_fields = ("conversation__title",)
    change_form_template = "admin/assistant/conversation/run_page.html"
    list_display = (
        "started_at",
        "state",
        "tenant",
        "member",
        assistant_column,
        "conversation_link",
        "tokens",
        "cost",
        "seconds",
        "error",
    )
    more_columns = ("model", "provider_name", "first_token", "prompt_version", "is_test", "run_id")
    list_filter = (
        RunStatusFilter,
        TENANT,
        AssistantFilter,
        "is_test",
        ("error_code", ErrorFilter),
        ("model", NewestValuesFilter),
        "started_at",
    )
    search_fields = ("run_id", "continues", username("user"), "conversation__title", "error_message")
    list_select_related = ("tenant", "user", "assistant__tenant", "conversation__tenant", "prompt_version__assistant")
    fields = (
        "run_id", "continues", "number", "follows", "state", "tenant", "member", "assistant", "api_key",
        "conversation_link", "tool_calls_link", "prompt_version", "provider_name", "model", "replaced_model",
        "fallback_provider", "fallback_model", "is_test",
        "input_tokens", "output_tokens", "first_token_ms", "error_code", "error_message", "started_at", "ended_at",
        "cancel_requested_at", "lease_until",
    )  # fmt: skip
    readonly_fields = ("state", "member", "conversation_link", "tool_calls_link")
    member = user_column("user")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        rows: QuerySet[Run] = super().get_queryset(request).annotate(awaits=awaits_approval())
        return rows

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list with the titles of the conversations where these may be shown."""
        found = super().get_changelist_instance(request)
        costs = cost_by("run", found.result_list)
        for row in found.result_list:
            row.is_title_hidden = not may_show(request, row.conversation)
            row.cost_millionths = costs.get(row.pk, 0)
        return found

    def more_totals(self, request: HttpRequest, rows: QuerySet[Any], shown: Sequence[Any]) -> Mapping[str, str]:
        """Return the tokens of the runs, and what they have cost."""
        sums = rows.aggregate(input=Sum("input_tokens"), output=Sum("output_tokens"))
        texts = {name: whole_number(value) for name, value in sums.items()}
        sentence = gettext("Sum %(input)s in, %(output)s out") % texts
        cost = cost_of_all("run", rows, tenants_of(request, self.permission))
        return {"tokens": sentence, "cost": f"{gettext('Sum')} {money_of(cost)}"}

    def look_at(self, request: HttpRequest, row: Run) -> Sequence[tuple[str, str]]:
        """Return the question and the answer, where these may be shown, and why it failed."""
        return last_exchange(request, self, row, row.messages.all(), (gettext("Error"), row.error_message))

    @admin.display(description=gettext_lazy("cost"))
    def cost(self, run: Any) -> str:
        return money_of(run.cost_millionths)

    @admin.display(description=gettext_lazy("took"))
    def seconds(self, run: Run) -> str:
        return _seconds(None if run.ended_at is None else (run.ended_at - run.started_at).total_seconds())

    @admin.display(description=gettext_lazy("first token"), ordering="first_token_ms")
    def first_token(self, run: Run) -> str:
        return _seconds(None if run.first_token_ms is None else run.first_token_ms / 1_000)

    @admin.display(description=gettext_lazy("error"), ordering="error_code")
    def error(self, run: Run) -> str:
        return error_words(run.error_code) or "—"

    def show(self, request: HttpRequest, row: Any, extra_context: dict[str, Any]) -> Any:
        """Show the run as a waterfall, and below it its columns."""
        fall = waterfalls(runs=[row], tenant_id=row.tenant_id)[row.pk]
        added = {
            "fall": shown_waterfall(fall),
            "may_try": may_try(request, row.tenant_id),
            "sections": sections_of(row),
        }
        return super().show(request, row, extra_context | added)

    @admin.display(description=gettext_lazy("status"), ordering="status")
    def state(self, run: Any) -> SafeString:
        """Return the status. A run whose approval was answered stays `waiting`, because another run continues it."""
        if run.status != Run.Status.WAITING or run.awaits:
            return state_of_run(run)
        return state("good", gettext("Answered; another run went on"))

    @admin.display(description=gettext_lazy("tokens"), ordering="output_tokens")
    def tokens(self, run: Run) -> str:
        return gettext("%(input)d in, %(output)d out") % {"input": run.input_tokens, "output": run.output_tokens}

    @admin.display(description=gettext_lazy("conversation"))
    def conversation_link(self, run: Any) -> str:
        if getattr(run, "is_title_hidden", False):
            return link(run.conversation, f"{str(run.conversation_id)[:8]} ({HIDDEN})")
        url = reverse("admin:assistant_conversation_change", args=[run.conversation_id])
        # The part of the thread that ends with this run.
        return format_html('<a href="{}?run={}#run-{}">{}</a>', url, run.pk, run.number, run.conversation)

    @admin.display(description=gettext_lazy("tool calls"))
    def tool_calls_link(self, run: Run) -> SafeString:
        text = gettext("tool calls: %(number)d") % {"number": run.tool_calls.count()}
        return link_to_list(ToolCall, text, run__id__exact=run.pk)

    def lookup_allowed(self, lookup: str, value: str, request: object = None) -> bool:
        return lookup == "conversation__id__exact" or super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]


def _seconds(seconds: float | None) -> str:
    return "—" if seconds is None else f"{number_format(seconds, 1)} s"
