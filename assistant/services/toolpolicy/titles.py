"""The names of tools, and what became of their calls, in words for people."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext as _

from assistant.models import ToolCall
from assistant.services.toolpolicy import catalogue, outside_tools
from assistant.services.toolpolicy.tools_of_runs import titles_of_added


def titles_of(*, tenant_id: int, names: Collection[str]) -> dict[str, str]:
    """Return the titles of those of a tenant's tools that have one, by name; with queries only for outside tools."""
    known = catalogue.registry()
    tools = [known.get(name) for name in names if name in known]
    if len(tools) < len(names):
        outside = outside_tools.tools_of(tenant_id=tenant_id, user_id=None)
        tools += [entry.tool for entry in outside if entry.tool.name in names]
    added = titles_of_added(tenant_id=tenant_id, names=[name for name in names if name not in known])
    found = {tool.name: title for tool in tools if (title := tool.title.strip())}
    return {name: title for name, title in added.items() if name in names} | found


def state_of_call(status: str) -> str:
    """Return the state of a call in the words of the chat."""
    words = {
        ToolCall.Status.RUNNING: _("Running"),
        ToolCall.Status.OK: _("Done"),
        ToolCall.Status.ERROR: _("Failed"),
        ToolCall.Status.UNKNOWN: _("Outcome unknown"),
        ToolCall.Status.TIMEOUT: _("Timed out"),
        ToolCall.Status.REFUSED: _("Refused"),
        ToolCall.Status.CANCELLED: _("Stopped"),
        ToolCall.Status.DECLINED: _("Rejected"),
        ToolCall.Status.EXPIRED: _("Expired"),
        ToolCall.Status.INTERRUPTED: _("Interrupted"),
        ToolCall.Status.APPROVED: _("Approved"),
        ToolCall.Status.AWAITING_APPROVAL: _("Needs an approval"),
        ToolCall.Status.PENDING: _("Waits for its result"),
    }
    return words[ToolCall.Status(status)]
