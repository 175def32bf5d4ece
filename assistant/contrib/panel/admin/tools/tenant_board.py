"""One tenant's switches as a list: for the whole tenant and each of its assistants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from assistant.admin.base.names import state_word
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, tenants_of
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.tools.board_changes import change_switches, undo
from assistant.contrib.panel.admin.tools.board_request import PERMISSION, number_in, require_board, seen_in, words_in
from assistant.contrib.panel.admin.tools.wording import after_outside, last_change, overtaken_message, undo_label
from assistant.contrib.panel.services.assistant_board import (
    Cell,
    ListedTool,
    Row,
    board_of_assistants,
    reach_of,
    tools_of_tenant,
)
from assistant.contrib.panel.services.last_switches import last_switches
from assistant.contrib.panel.services.undone_switches import latest_change
from assistant.models import Assistant, Tenant
from assistant.models.tool_settings import FOLLOW
from assistant.services.toolpolicy.switch_changes import Overtaken, Target, latest_version, set_switch

# Each has a cell for the tenant and one for each assistant: 500 of them are a page of 4 MB.
TOOLS_ON_A_PAGE = 100
STATES = ("on", "ask", "off")


@dataclass(frozen=True, slots=True)
class ToolFilters:
    """Which of a tenant's tools its page lists: by a part of the name or description, the group, and the state."""

    q: str
    group: str
    state: str

    @property
    def query(self) -> str:
        """The filters as a URL's query, without those that are not set."""
        return urlencode({name: getattr(self, name) for name in ("q", "group", "state") if getattr(self, name)})

    def tools(self, tenant: Tenant, every: Sequence[ListedTool]) -> list[ListedTool]:
        """Return the tools that are like that; a state is that of the whole tenant."""
        found = [listed for listed in every if listed.matches(words=self.q, group=self.group)]
        if not self.state:
            return found
        rows = board_of_assistants(tenant=tenant, assistants=[], tools=found)
        pairs = zip(found, rows, strict=True)
        return [listed for listed, row in pairs if row.cells[0].decision.policy == self.state]


def _filters(request: HttpRequest) -> ToolFilters:
    given = request.GET
    state = next((one for one in STATES if one == given.get("state")), "")
    return ToolFilters(words_in(given.get("q", "")), words_in(given.get("group", "")), state)


def tenant_board_view(request: HttpRequest, tenant: str) -> HttpResponse:
    """Show tools by one tenant and its assistants, or set switches."""
    row = tenants_of(request, PERMISSION).filter(slug=tenant).first()
    if row is None:
        raise Http404("There is no such tenant.")
    if request.method == "POST":
        return _post(request, row)
    require_board(request)
    return TemplateResponse(request, "admin/assistant/toolsetting/switchboard.html", _context(request, row))


def _post(request: HttpRequest, tenant: Tenant) -> HttpResponse:
    if "undo" in request.POST:
        return undo(request)
    return _set_many(request, tenant) if "policy" in request.POST else _set_switch(request)


def _context(request: HttpRequest, tenant: Tenant) -> dict[str, Any]:
    filters = _filters(request)
    every = tools_of_tenant(tenant)
    assistants = list(tenant.assistants.order_by("slug"))
    page = Paginator(filters.tools(tenant, every), TOOLS_ON_A_PAGE).get_page(request.GET.get("page"))
    columns: list[dict[str, Any]] = [
        {"tenant": tenant, "reach": reach_of(tenants=[tenant])[tenant.pk], "is_own": True},
        *({"tenant": tenant, "assistant": assistant} for assistant in assistants),
    ]
    rows = board_of_assistants(tenant=tenant, assistants=assistants, tools=list(page))
    return {
        **admin.site.each_context(request),
        "title": _("Switchboard of %(tenant)s") % {"tenant": tenant.name},
        # If another tenant is picked in the header, that one is shown instead.
        "panel_next": reverse("admin:switchboard"),
        "tenant": tenant,
        "columns": columns,
        "page": page,
        "filters": filters,
        "states": [(state, state_word(state)) for state in STATES],
        "groups": _groups(filters, every),
        "all": len(every),
        "policies": [("on", _("On")), ("ask", _("Ask first")), ("off", _("Off")), (FOLLOW, _("Default"))],
        "sections": [
            (group, [(one, _cells(one, columns)) for one in some])
            for group, some in groupby(rows, key=lambda one: one.group)
        ],
        "seen": latest_version(tenants=[tenant.pk]),
        "undo": undo_label(latest_change(actor=request.user, tenants=tenants_of(request, PERMISSION))),
        "is_operator": is_operator(request),
        "has_board": is_operator(request) or tenants_of(request, PERMISSION).count() > 1,
    }


def _groups(filters: ToolFilters, every: Sequence[ListedTool]) -> list[tuple[str, int, bool]]:
    """Return the groups with their numbers of tools, and which is shown; none if there is only one."""
    counts = Counter(listed.group for listed in every)
    return [(name, count, name == filters.group) for name, count in counts.items()] if len(counts) > 1 else []


def _cells(row: Row, columns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [_shown(row, cell, column) for cell, column in zip(row.cells, columns, strict=True)]


def _shown(row: Row, cell: Cell, column: dict[str, Any]) -> dict[str, Any]:
    after = after_outside(
        policy=cell.decision.policy,
        marked=cell.marked.policy,
        is_read_only=row.is_read_only,
        has_destinations=row.has_destinations,
    )
    rule = shown_rule(cell.decision.rule)
    return {"cell": cell, "column": column, "rule": rule, "after": after, "last": last_change(cell.last)}


def _set_many(request: HttpRequest, tenant: Tenant) -> HttpResponse:
    """Set the whole tenant's switches of the tools that are ticked, or of all that the filters find."""
    every = tools_of_tenant(tenant)
    ticked = set(request.POST.getlist("tool"))
    found = _filters(request).tools(tenant, every) if request.POST.get("all") else every
    names = [listed.tool.name for listed in found if request.POST.get("all") or listed.tool.name in ticked]
    if not names:
        messages.warning(request, _("Nothing was changed: tick the tools first."))
        return HttpResponseRedirect(request.get_full_path())
    return change_switches(request, [Target(tenant.pk, None, name) for name in names], request.POST["policy"])


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
