"""The pages of requests for tools: the list, and the page on which one is answered."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.text import Truncator
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import base_template, username
from assistant.admin.base.names import state_word
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import ReadOnlyAdmin
from assistant.contrib.tool_requests.models import MAX_ANSWER, ToolRequest
from assistant.contrib.tool_requests.services.answering import (
    Answered,
    InTheWay,
    StillOff,
    grant,
    in_the_way,
    settle,
    tool_for,
)
from assistant.contrib.tool_requests.services.asking import titles_of_requests
from assistant.services.toolpolicy import catalogue

ON = "on"
ASK = "ask"
SETTLED = "settled"
NO = "no"


class AnswerForm(forms.Form):
    """The words that a member reads with the answer, and which button was pressed."""

    answer = forms.CharField(
        label=gettext_lazy("Your words to them"),
        max_length=MAX_ANSWER,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )
    do = forms.ChoiceField(choices=[(one, one) for one in (ON, ASK, SETTLED, NO)], widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        cleaned["answer"] = " ".join(cleaned.get("answer", "").split())
        if cleaned.get("do") in (SETTLED, NO) and not cleaned["answer"]:
            self.add_error("answer", gettext("Say something: no switch is changed, and the bare word helps nobody."))
        return cleaned


def title_of(tool: str) -> str:
    """Return a tool's name for people, without a query; of one that is not the deployment's the name that it has."""
    known = catalogue.registry()
    return (known.get(tool).title.strip() if tool in known else "") or tool


class ToolRequestAdmin(ReadOnlyAdmin):
    """Requests for tools; whoever may set the switches answers them."""

    permission = "tools"
    list_display = ("what", "tenant", "user", "asked_in", "question_text", "asked_at", "state")
    list_filter = (TENANT, "state", "tool", "asked_at")
    search_fields = ("tool", "wish", username("user"))
    list_select_related = ("tenant", "user", "conversation__assistant")

    @admin.display(description=gettext_lazy("asked for"))
    def what(self, row: ToolRequest) -> str:
        """Return the tool's name for people, without a query, or the member's own words."""
        return Truncator(title_of(row.tool) if row.tool else str(row)).chars(80)

    @admin.display(description=gettext_lazy("assistant"))
    def asked_in(self, row: ToolRequest) -> str:
        return row.conversation.assistant.name

    @admin.display(description=gettext_lazy("question that needed it"))
    def question_text(self, row: ToolRequest) -> str:
        return Truncator(row.question or "—").chars(120)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a request with what is in the way, and answer it."""
        row = self.row_or_404(request, object_id, self.has_view_permission)
        form = AnswerForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and self._answer(request, row, form.cleaned_data):
            return HttpResponseRedirect(reverse("admin:assistant_tool_requests_toolrequest_changelist"))
        row.refresh_from_db()
        return TemplateResponse(request, "admin/assistant/tool_requests/answer.html", self._context(request, row, form))

    def _answer(self, request: HttpRequest, row: ToolRequest, given: dict[str, Any]) -> bool:
        """Store an answer; return False where it could not be, with a message."""
        do = given["do"]
        answer = given["answer"]
        try:
            if do in (ON, ASK):
                grant(actor=request.user, row=row, policy=do, answer=answer)
            else:
                settle(actor=request.user, row=row, is_yes=do == SETTLED, answer=answer)
        except (Answered, StillOff) as exc:
            self.message_user(request, gettext("Nothing was changed: %(why)s") % {"why": exc}, messages.ERROR)
            return False
        sentence = gettext("Answered. %(person)s reads it in the conversation.")
        self.message_user(request, sentence % {"person": row.user.get_username()}, messages.SUCCESS)
        return True

    def _context(self, request: HttpRequest, row: ToolRequest, form: AnswerForm) -> dict[str, Any]:
        is_open = row.state == ToolRequest.State.OPEN
        entry = tool_for(row) if row.tool and is_open else None
        switches = in_the_way(row) if entry is not None else []
        others = ToolRequest.objects.filter(tenant=row.tenant, tool=row.tool).exclude(tool="").exclude(pk=row.pk)
        return self.admin_site.each_context(request) | {
            "title": titles_of_requests(row.tenant_id, [row]).get(row.tool) or str(row),
            "base": base_template(),
            "opts": self.opts,
            "row": row,
            "form": form,
            "is_open": is_open,
            "rule": "" if entry is None else entry.rule,
            "is_usable": entry is not None and entry.policy != "off",
            "is_gone": is_open and bool(row.tool) and entry is None,
            "switches": [_shown(row, one) for one in switches],
            "others": others.filter(state=ToolRequest.State.OPEN).count() if row.tool else 0,
        }


def _shown(row: ToolRequest, one: InTheWay) -> dict[str, str]:
    whom = row.tenant.name if one.assistant is None else one.assistant.name
    setting = one.setting
    now = gettext("not switched on") if setting is None else state_word("off")
    why = "" if setting is None else setting.reason
    return {"whom": whom, "now": now, "why": why}
