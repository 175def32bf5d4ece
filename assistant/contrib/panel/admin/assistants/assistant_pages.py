"""The tabs of an assistant's page that only read: its conversations, tools, documents and changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from assistant.admin.base.changes import sentence_of_entry
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.panel.admin.assistants import assistant_tabs as tabs
from assistant.contrib.panel.admin.assistants.assistant_tabs import AssistantTab
from assistant.contrib.panel.admin.base.action_titles import action_title
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, may_show
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.tools.tenant_board import TOOLS_ON_A_PAGE
from assistant.contrib.panel.reports import assistant_page
from assistant.contrib.panel.services.assistant_board import board_of_assistants
from assistant.models import Assistant, Document

Context = dict[str, Any]


def find_assistant(request: HttpRequest, pk: int, tab: AssistantTab) -> Assistant:
    """Return the assistant of a tab. Raises `Http404` if there is none, or the user may not open the tab."""
    rows = Assistant.objects.filter(pk=pk, tenant__in=tenants_of(request, tab.permission)).select_related("tenant")
    assistant = rows.first() if pk < 2**63 else None
    if assistant is None:
        raise Http404("There is no such assistant.")
    return assistant


def frame_of(request: HttpRequest, assistant: Assistant, current: AssistantTab) -> Context:
    """Return what the frame of a tab shows: the assistant's name, its tenant and the tabs that the user may open."""
    return {
        "title": assistant.name,
        "subtitle": None,
        "assistant": assistant,
        "assistant_tabs": tabs.open_tabs(request, assistant, current),
    }


def _conversations(request: HttpRequest, assistant: Assistant) -> Context:
    rows = assistant_page.conversations_of(assistant=assistant)
    return {"rows": [(row, row if may_show(request, row) else f"{str(row.pk)[:8]} ({HIDDEN})") for row in rows]}


def _tools(request: HttpRequest, assistant: Assistant) -> Context:
    rows = [
        (row, row.cells[0].decision) for row in board_of_assistants(tenant=assistant.tenant, assistants=[assistant])
    ]
    decisions = [(row, row.cells[-1].decision) for row, _of_tenant in rows]
    counts = {policy: sum(decision.policy == policy for _, decision in decisions) for policy in ("on", "ask", "off")}
    order = {"on": 0, "ask": 1, "off": 2}
    decisions.sort(key=lambda one: (order[one[1].policy], one[0].name))
    shown = [(row, decision.policy, shown_rule(decision.rule)) for row, decision in decisions[:TOOLS_ON_A_PAGE]]
    return {"rows": shown, "counts": counts, "more": len(decisions) - len(shown)}


def _knowledge(request: HttpRequest, assistant: Assistant) -> Context:
    return {
        "rows": assistant_page.documents_of(assistant=assistant),
        "counts": assistant_page.count_documents(assistant=assistant),
        "has_documents_page": admin.site.is_registered(Document),
    }


def _changes(request: HttpRequest, assistant: Assistant) -> Context:
    entries = assistant_page.changes_of(assistant=assistant)
    return {"rows": [(entry, action_title(entry.action), sentence_of_entry(entry)) for entry in entries]}


PAGES: dict[AssistantTab, Callable[[HttpRequest, Assistant], Context]] = {
    tabs.CONVERSATIONS: _conversations,
    tabs.TOOLS: _tools,
    tabs.KNOWLEDGE: _knowledge,
    tabs.CHANGES: _changes,
}


def urls() -> list[URLPattern]:
    """Return the addresses of the tabs, below the list of assistants."""
    wrap = admin.site.admin_view
    return [
        path(f"<int:pk>/{tab.slug}/", wrap(require_safe(_view(tab))), name=f"assistant_assistant_{tab.slug}")
        for tab in PAGES
    ]


def _view(tab: AssistantTab) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, pk: int) -> HttpResponse:
        assistant = find_assistant(request, pk, tab)
        context = {
            **admin.site.each_context(request),
            "opts": Assistant._meta,
            **frame_of(request, assistant, tab),
            **PAGES[tab](request, assistant),
        }
        return TemplateResponse(request, f"admin/assistant/assistant/{tab.slug}.html", context)

    return view
