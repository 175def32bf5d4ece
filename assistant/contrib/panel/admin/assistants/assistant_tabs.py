"""The tabs of an assistant's page: which there are, where each stands, and who may open it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.contrib.panel.admin.base.rooms import Link
from assistant.models import Assistant


@dataclass(frozen=True, slots=True, eq=False)
class AssistantTab:
    """One tab: its name, its address for an assistant's id, and the permission that opens it to others than admins."""

    slug: str
    name: str | Promise
    url: Callable[[int], str]
    permission: str = ""

    def is_open(self, request: HttpRequest, tenant_id: int) -> bool:
        """Return whether the user may open the tab of an assistant of a tenant."""
        return is_operator(request) or tenant_id in permitted_of(request).tenants(self.permission)


def _at(name: str) -> Callable[[int], str]:
    return lambda pk: reverse(f"admin:{name}", args=[pk])


PROMPT = AssistantTab("prompt", _("Prompt"), _at("prompt_editor"), "prompts")
CONVERSATIONS = AssistantTab(
    "conversations", _("Conversations"), _at("assistant_assistant_conversations"), "read_chats"
)
TOOLS = AssistantTab("tools", _("Tools"), _at("assistant_assistant_tools"), "tools")
KNOWLEDGE = AssistantTab("knowledge", _("Knowledge"), _at("assistant_assistant_knowledge"))
SETTINGS = AssistantTab("settings", _("Settings"), _at("assistant_assistant_change"))
CHANGES = AssistantTab("changes", _("Changes"), _at("assistant_assistant_changes"))
_tabs = [PROMPT, CONVERSATIONS, TOOLS, KNOWLEDGE, SETTINGS, CHANGES]


def add_assistant_tab(tab: AssistantTab, *, after: AssistantTab) -> None:
    """Show a tab of an optional app on the pages of assistants."""
    _tabs.insert(_tabs.index(after) + 1, tab)


def open_tabs(request: HttpRequest, assistant: Assistant, current: AssistantTab | None = None) -> list[Link]:
    """Return links to the tabs of an assistant that the user may open."""
    return [
        Link(str(tab.name), tab.url(assistant.pk), tab is current)
        for tab in _tabs
        if tab.is_open(request, assistant.tenant_id)
    ]


def page_of(request: HttpRequest, assistant: Assistant) -> str:
    """Return the address of the first tab that the user may open: the assistant's page; "" without any."""
    return next((link.url for link in open_tabs(request, assistant)), "")
