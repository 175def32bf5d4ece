"""What the control panel shows of requests for tools: their list in the inbox, and *Needs you*."""

from __future__ import annotations

from django.utils.translation import gettext_lazy, ngettext

from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.panel.admin.home.home import describe_need
from assistant.contrib.panel.reports.needs import Item, items_of, look_for
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.contrib.tool_requests.admin.requests import title_of
from assistant.contrib.tool_requests.models import ToolRequest

WAITING = "tool-request"


def waiting_requests(tenants: TenantFilter) -> list[Item]:
    """Return the requests that wait for an answer, the oldest first; one query."""
    rows = tenants.rows(ToolRequest.objects.filter(state=ToolRequest.State.OPEN, tenant__is_active=True))
    found = items_of(rows.order_by("asked_at"), "tool")
    return [Item(title_of(item.name) or "—", item.tenant, item.key) for item in found]


show_in_room("inbox", ToolRequest, after="approval")
describe_empty_list(
    "toolrequest",
    gettext_lazy("Nobody has asked for a tool. Members do so in the menu of a conversation, or on a refused call."),
)
look_for(WAITING, waiting_requests, after="approval")
describe_need(
    WAITING,
    sentence=lambda n: ngettext("%(n)s member asks for a tool", "%(n)s requests for tools wait", n),
    every="assistant_tool_requests_toolrequest_changelist",
    page="assistant_tool_requests_toolrequest_change",
)
