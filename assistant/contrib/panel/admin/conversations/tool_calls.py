"""The read-only pages of tool calls, with their files."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Avg, Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import link, pretty, user_column, username
from assistant.admin.base.long_lists import LongList
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, ReadsChats, may_show
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.conversations.run_filters import CalledToolFilter
from assistant.contrib.panel.admin.conversations.texts_in_looks import texts
from assistant.contrib.panel.admin.inbox.approval_form import readable_arguments
from assistant.contrib.panel.admin.lists.list_parts import ListParts, Total
from assistant.contrib.panel.admin.lists.states import state_of_call
from assistant.core.conversation.sub_agent_transcripts import from_stored
from assistant.models import ToolCall, ToolFile
from assistant.services.conversations.stored_messages import text_of
from assistant.services.toolcalls.files import file_response


@admin.register(ToolCall)
class ToolCallAdmin(LongList, ReadsChats, ReadOnlyAdmin, ListParts):
    """The audit of tool calls: the member, the arguments, the rule that applied, and the outcome."""

    permission = "read_chats"
    conversation_path = "run__conversation"
    text_fields = ("arguments",)
    list_display = ("name", "state", "tenant", "member", "asked_in", "decided_by_rule", "duration_ms", "started_at")
    more_columns = ("approver", "decided_at", "call_id")
    list_totals: ClassVar[Mapping[str, Total]] = {
        "state": Total(_("Failed"), Count("pk", filter=Q(status=ToolCall.Status.ERROR))),
        "duration_ms": Total(_("Average"), Avg("duration_ms")),
    }
    list_filter = ("status", CalledToolFilter, TENANT, "started_at")
    search_fields = (
        "name",
        "call_id",
        "error_id",
        "arguments",
        "run__run_id",
        username("run__user"),
        username("user"),
    )
    list_select_related = ("tenant", "user", "run", "run__user", "run__conversation__tenant")
    fields = (
        "name",
        "call_id",
        "status",
        "rule",
        "tenant",
        "member",
        "run_link",
        "conversation_link",
        "agent",
        "arguments_pretty",
        "result_pretty",
        "told_pretty",
        "display_pretty",
        "asked_assistants",
        "files",
        "error",
        "error_id",
        "duration_ms",
        "approver",
        "decided_at",
        "started_at",
    )
    readonly_fields = (
        "member",
        "run_link",
        "conversation_link",
        "arguments_pretty",
        "result_pretty",
        "told_pretty",
        "display_pretty",
        "asked_assistants",
        "files",
        "approver",
    )
    approver = user_column("decided_by")

    @admin.display(description=_("member"), ordering=username("run__user"))
    def member(self, call: ToolCall) -> str:
        caller = call.user if call.run is None else call.run.user
        return caller.get_username() if caller is not None else "—"

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list with the titles of conversations where these may be shown."""
        found = super().get_changelist_instance(request)
        for call in found.result_list:
            call.is_title_hidden = call.run is not None and not may_show(request, call.run.conversation)
        return found

    @admin.display(description=_("status"), ordering="status")
    def state(self, call: ToolCall) -> SafeString:
        return state_of_call(call)

    @admin.display(description=_("rule"), ordering="rule")
    def decided_by_rule(self, call: ToolCall) -> str:
        return shown_rule(call.rule) or "—"

    @admin.display(description=_("conversation"))
    def asked_in(self, call: Any) -> SafeString | str:
        """Return a link to the run in its conversation, by the conversation's title where that may be shown."""
        if call.run is None:
            return gettext("over MCP")
        return link(call.run, HIDDEN if call.is_title_hidden else call.run.conversation)

    def look_at(self, request: HttpRequest, row: ToolCall) -> Sequence[tuple[str, str]]:
        """Return what the tool was asked and what it returned, where these may be shown."""
        asked = "\n".join(f"{name}: {value}" if name else value for name, value in readable_arguments(row.arguments))
        found = ((gettext("Arguments"), asked), (gettext("Result"), row.result), (gettext("Error"), row.error))
        return texts(request, self, row, *found)

    @admin.display(description=_("run"))
    def run_link(self, call: ToolCall) -> str:
        return gettext("over MCP") if call.run is None else link(call.run, call.run.run_id)

    @admin.display(description=_("conversation"))
    def conversation_link(self, call: ToolCall) -> str:
        if call.run is None:
            return "—"
        url = reverse("admin:assistant_conversation_change", args=[call.run.conversation_id])
        return format_html(
            '<a href="{}?run={}#run-{}">{}</a>', url, call.run.pk, call.run.number, call.run.conversation
        )

    @admin.display(description=_("arguments"))
    def arguments_pretty(self, call: ToolCall) -> SafeString:
        return pretty(call.arguments)

    @admin.display(description=_("result"))
    def result_pretty(self, call: ToolCall) -> SafeString:
        return pretty(call.result)

    @admin.display(description=_("what the model read"))
    def told_pretty(self, call: ToolCall) -> SafeString | str:
        return pretty(call.told) if call.told else gettext("The whole result.")

    @admin.display(description=_("what the page showed"))
    def display_pretty(self, call: ToolCall) -> SafeString | str:
        return gettext("The result.") if call.display is None else pretty(json.dumps(call.display))

    @admin.display(description=_("what asked assistants said"))
    def asked_assistants(self, call: ToolCall) -> SafeString | str:
        rows = (
            (message.role, one.name, message.role, text_of(message))
            for one in from_stored(call.asked or ())
            for message in one.messages
        )
        body = format_html_join("", '<li class="{}"><strong>{}</strong> {}<pre>{}</pre></li>', rows)
        return format_html('<ol class="transcript">{}</ol>', body) if body else "—"

    @admin.display(description=_("files"))
    def files(self, call: ToolCall) -> SafeString | str:
        links = (
            (reverse("admin:toolcall_file", args=[call.pk, row.pk]), row.name, row.media_type, row.size)
            for row in call.files.defer("data")
        )
        return format_html_join(", ", '<a href="{}">{}</a> ({}, {} bytes)', links) or "—"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.file)
        return [path("<int:call>/files/<uuid:file>/", view, name="toolcall_file"), *super().get_urls()]

    def file(self, request: HttpRequest, call: int, file: uuid.UUID) -> HttpResponse:
        """Serve one file of a call that the user may view. Raises `Http404`."""
        row = get_object_or_404(self.get_queryset(request), pk=call)
        if (refused := self.refused(request, row)) is not None:
            return refused
        return file_response(get_object_or_404(ToolFile, pk=file, call=row, tenant_id=row.tenant_id))

    def lookup_allowed(self, lookup: str, value: str, request: object = None) -> bool:
        allowed = {"run__id__exact", "run__conversation__id__exact"}
        return lookup in allowed or super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]
