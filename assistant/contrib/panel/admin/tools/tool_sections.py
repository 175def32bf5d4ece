"""The sections of a tool's page that only read: its days, who waits, the last failures, its parameters, and changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from assistant.admin.base.changes import sentence_of_entry
from assistant.admin.base.visible_tenants import is_operator, picked_tenant, tenants_of
from assistant.contrib.panel.admin.base.action_titles import action_title
from assistant.contrib.panel.admin.base.charts import Point, bar_chart
from assistant.contrib.panel.admin.base.chat_reading import may_show
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.tools.parameters import parameters_of
from assistant.contrib.panel.reports import tool_page
from assistant.contrib.panel.reports.tool_page import ToolDay
from assistant.models import Tenant, ToolCall
from assistant.toolkit import Tool


def sections(request: HttpRequest, tool: Tool, tenants: Sequence[Tenant]) -> dict[str, Any]:
    """Return what the sections show, for the tenants that the page is about."""
    now = timezone.now()
    zone = _zone(request)
    ids = [tenant.pk for tenant in tenants]
    days = tool_page.days_of_tool(tool=tool.name, tenants=ids, now=now, zone=zone)
    waiting = tool_page.waiting_calls(tool=tool.name, tenants=_allowed(request, ids, "approvals"))
    failures = tool_page.last_failures(tool=tool.name, tenants=_allowed(request, ids, "read_chats"))
    changes = tool_page.changes_of_tool(
        tool=tool.name, tenants=ids, now=now, with_deployment=is_operator(request) and picked_tenant(request) is None
    )
    return {
        "call_days": days,
        "chart": _chart(days) if any(day.calls for day in days) else "",
        "zone": zone.key,
        "waiting": waiting,
        "failures": [(call, shown_rule(call.rule), _error(request, call)) for call in failures],
        "parameters": parameters_of(tool.parameters),
        "changes": [(entry, action_title(entry.action), sentence_of_entry(entry)) for entry in changes],
        "change_days": tool_page.CHANGE_DAYS,
        "has_many": len(ids) > 1,
    }


def _zone(request: HttpRequest) -> ZoneInfo:
    picked = picked_tenant(request)
    return ZoneInfo(picked.timezone if picked is not None else timezone.get_default_timezone_name())


def _allowed(request: HttpRequest, tenants: Collection[int], permission: str) -> list[int]:
    """Return those of the tenants in which the user has another permission than that of the page."""
    if is_operator(request):
        return list(tenants)
    return list(tenants_of(request, permission).filter(pk__in=tenants).values_list("pk", flat=True))


def _error(request: HttpRequest, call: ToolCall) -> str:
    """Return what a call failed with; "" where reading its conversation is restricted."""
    conversation = None if call.run is None else call.run.conversation
    is_kept = conversation is None or not conversation.is_temporary
    return call.error if is_kept and may_show(request, conversation) else ""


def _chart(days: Sequence[ToolDay]) -> SafeString:
    name = _("Calls on each of the last %(days)s days, with those that failed") % {"days": len(days)}
    return bar_chart([_point(day) for day in days], name=name)


def _point(day: ToolDay) -> Point:
    date = date_format(day.date, "SHORT_DATE_FORMAT")
    title = _("%(date)s: %(calls)s calls, %(failed)s failed") % {
        "date": date,
        "calls": day.calls,
        "failed": day.failed,
    }
    return Point(date_format(day.date, "MONTH_DAY_FORMAT"), day.calls, None, title, marked=day.failed)
