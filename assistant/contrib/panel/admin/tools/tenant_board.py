"""One tenant's switches as a list: for the whole tenant and each of its assistants."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, tenants_of
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.tools.board_changes import undo
from assistant.contrib.panel.admin.tools.board_request import PERMISSION, number_in, require_board, seen_in
from assistant.contrib.panel.admin.tools.wording import after_outside, last_change, overtaken_message, undo_label
from assistant.contrib.panel.services.assistant_board import Cell, Row, board_of_assistants, reach_of
from assistant.contrib.panel.services.last_switches import last_switches
from assistant.contrib.panel.services.undone_switches import latest_change
from assistant.models import Assistant, Tenant
from assistant.models.tool_settings import FOLLOW
from assistant.services.toolpolicy.switch_changes import Overtaken, latest_version, set_switch


def tenant_board_view(request: HttpRequest, tenant: str) -> HttpResponse:
    """Show tools by one tenant and its assistants, or set a switch."""
    row = tenants_of(request, PERMISSION).filter(slug=tenant).first()
    if row is None:
        raise Http404("There is no such tenant.")
    if request.method == "POST":
        return undo(request) if "undo" in request.POST else _set_switch(request)
    require_board(request)
    assistants = list(row.assistants.order_by("slug"))
    columns: list[dict[str, Any]] = [{"tenant": row, "reach": reach_of(tenants=[row])[row.pk], "is_own": True}]
    columns += [{"tenant": row, "assistant": assistant} for assistant in assistants]
    rows = board_of_assistants(tenant=row, assistants=assistants)
    context = {
        **admin.site.each_context(request),
        "title": _("Switchboard of %(tenant)s") % {"tenant": row.name},
        # If another tenant is picked in the header, that one is shown instead.
        "panel_next": reverse("admin:switchboard"),
        "tenant": row,
        "columns": columns,
        "lines": [
            (one, [_shown(one, cell, column) for cell, column in zip(one.cells, columns, strict=True)]) for one in rows
        ],
        "seen": latest_version(tenants=[row.pk]),
        "undo": undo_label(latest_change(actor=request.user, tenants=tenants_of(request, PERMISSION))),
        "is_operator": is_operator(request),
        "has_board": is_operator(request) or tenants_of(request, PERMISSION).count() > 1,
    }
    return TemplateResponse(request, "admin/assistant/toolsetting/switchboard.html", context)


def _shown(row: Row, cell: Cell, column: dict[str, Any]) -> dict[str, Any]:
    after = after_outside(
        policy=cell.decision.policy,
        marked=cell.marked.policy,
        is_read_only=row.is_read_only,
        has_destinations=row.has_destinations,
    )
    rule = shown_rule(cell.decision.rule)
    return {"cell": cell, "column": column, "rule": rule, "after": after, "last": last_change(cell.last)}


def _set_switch(request: HttpRequest) -> HttpResponse:
    """Set the switch that the pressed button names as `tenant:assistant:tool:policy`."""
    tenant_id, assistant_id, tool, policy = (*request.POST.get("set", "").split(":"), "", "", "", "")[:4]
    tenant = tenants_of(request, PERMISSION).filter(pk=number_in(tenant_id)).first()
    assistant = Assistant.objects.filter(pk=number_in(assistant_id), tenant=tenant).first() if assistant_id else None
    if tenant is None or (assistant_id and assistant is None):
        raise Http404("There is no such tenant.")
    try:
        set_switch(
            actor=request.user, tenant=tenant, assistant=assistant, tool=tool, policy=policy, seen=seen_in(request)
        )
    except Overtaken:
        last = last_switches(tenants=[tenant]).get((tenant.pk, f"{assistant.slug}: {tool}" if assistant else tool))
        whom = f"{assistant.name} of {tenant.name}" if assistant else tenant.name
        messages.error(request, overtaken_message([(tool, whom, last)]))
    except ValueError as exc:
        messages.error(request, _("Nothing was changed: %(why)s.") % {"why": exc})
    else:
        messages.success(request, _message(tenant, assistant, tool, policy))
    return HttpResponseRedirect(request.get_full_path())


def _message(tenant: Tenant, assistant: Assistant | None, tool: str, policy: str) -> str:
    whom = f"{assistant.name} of {tenant.name}" if assistant else tenant.name
    sentences = {
        "on": _("For %(whom)s %(tool)s is on, from the next tool call on."),
        "ask": _("For %(whom)s %(tool)s asks first, from the next tool call on."),
        "off": _("For %(whom)s %(tool)s is off, from the next tool call on."),
        FOLLOW: _("For %(whom)s %(tool)s has no switch of its own, from the next tool call on."),
    }
    return sentences[policy] % {"whom": whom, "tool": tool}
