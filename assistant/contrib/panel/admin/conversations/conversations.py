"""The list of conversations, and the page of each: its thread, and beside it each run as a waterfall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.filters import TENANT, AssistantFilter
from assistant.admin.base.links import assistant_column, assistant_label, link_to_list, user_column, username
from assistant.admin.base.long_lists import LongList
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, ReadsChats, ask_reason, may_show
from assistant.contrib.panel.admin.conversations.conversation_filters import (
    CostFilter,
    OutcomeFilter,
    RatingFilter,
    TestsFilter,
    UsedToolFilter,
)
from assistant.contrib.panel.admin.conversations.texts_in_looks import last_exchange
from assistant.contrib.panel.admin.conversations.thread import may_try, shown_thread, tools_off
from assistant.contrib.panel.admin.lists.cells import money_of
from assistant.contrib.panel.admin.lists.costs import cost_by, cost_of_all
from assistant.contrib.panel.admin.lists.list_parts import ListParts, Total
from assistant.contrib.panel.reports.thread import number_of, read_thread
from assistant.contrib.panel.services.message_search import with_words
from assistant.models import Conversation, Message, Run, ToolCall


@admin.register(Conversation)
class ConversationAdmin(LongList, ReadsChats, ReadOnlyAdmin, ListParts):
    """Conversations; the page of each shows what was said, and what its runs did."""

    permission = "read_chats"
    text_fields = ("title",)
    list_display = ("name", "tenant", "member", assistant_column, "run_count", "cost", "updated_at")
    more_columns = ("created_at", "id")
    list_totals: ClassVar[Mapping[str, Total]] = {"run_count": Total(gettext_lazy("Sum"), Sum("run_count"))}
    list_display_links = ("name",)
    list_filter = (
        TENANT,
        AssistantFilter,
        RatingFilter,
        OutcomeFilter,
        UsedToolFilter,
        CostFilter,
        TestsFilter,
        "updated_at",
    )
    search_fields = ("title", username("user"), "id")
    list_select_related = ("tenant", "user", "assistant__tenant")
    search_help_text = gettext_lazy("Title, member or id; and words of a message, in the newest 2,000 conversations.")
    member = user_column("user")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list with titles where these may be shown, and costs."""
        found = super().get_changelist_instance(request)
        costs = cost_by("run__conversation", found.result_list)
        for row in found.result_list:
            row.is_title_hidden = not may_show(request, row)
            row.cost_millionths = costs.get(row.pk, 0)
        return found

    def more_totals(self, request: HttpRequest, rows: QuerySet[Any], shown: Sequence[Any]) -> Mapping[str, str]:
        """Return what the conversations have cost together."""
        cost = cost_of_all("run__conversation", rows, tenants_of(request, self.permission))
        return {"cost": f"{gettext('Sum')} {money_of(cost)}"}

    def look_at(self, request: HttpRequest, row: Conversation) -> Sequence[tuple[str, str]]:
        """Return the last question and its answer, where these may be shown."""
        return last_exchange(request, self, row, row.messages.all())

    @admin.display(description=gettext_lazy("cost"))
    def cost(self, conversation: Any) -> str:
        return money_of(conversation.cost_millionths)

    @admin.display(description=gettext_lazy("conversation"), ordering="title")
    def name(self, conversation: Any) -> str:
        return f"{str(conversation.pk)[:8]} ({HIDDEN})" if conversation.is_title_hidden else str(conversation)

    def search_texts(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> tuple[Any, bool]:
        """Search titles, members and ids, and the messages of the newest conversations for all of the words."""
        found, may_repeat = super().search_texts(request, queryset, search_term)
        if not search_term.strip():
            return found, may_repeat
        return found | queryset.filter(pk__in=with_words(queryset, search_term)), may_repeat

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.reason_view)
        return [path("<uuid:pk>/read/", view, name="read_conversation"), *super().get_urls()]

    def reason_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        """Ask why somebody reads another person's conversation. Raises `Http404`."""
        return ask_reason(request, self.row_or_404(request, str(pk), self.has_view_permission))

    def show(self, request: HttpRequest, row: Any, extra_context: dict[str, Any]) -> HttpResponse:
        """Show the thread: the newest messages, or those before a position, or those of a run and before."""
        before = number_of(request.GET.get("before", ""), digits=9)
        thread = read_thread(conversation=row, before=before, run=number_of(request.GET.get("run", ""), digits=18))
        context = self.admin_site.each_context(request) | {
            "title": str(row),
            "opts": self.opts,
            "conversation": row,
            "assistant": assistant_label(row.assistant),
            "tools_off": tools_off(row),
            "pages": self._pages(row),
            "thread": thread,
            "exchanges": shown_thread(request, thread),
            "may_try": may_try(request, row.tenant_id),
        }
        return TemplateResponse(request, "admin/assistant/conversation/thread.html", context | extra_context)

    def _pages(self, conversation: Conversation) -> SafeString:
        return format_html(
            "{} · {} · {}",
            link_to_list(Run, gettext("Runs"), conversation__id__exact=conversation.pk),
            link_to_list(ToolCall, gettext("Tool calls"), run__conversation__id__exact=conversation.pk),
            link_to_list(Message, gettext("All messages"), conversation__id__exact=conversation.pk),
        )
