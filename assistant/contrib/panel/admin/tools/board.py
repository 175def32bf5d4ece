"""The board: tools by tenants as compact cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from assistant.admin.base.names import state_word
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, picked_tenant, tenants_of
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.tools.board_changes import change_switches, undo
from assistant.contrib.panel.admin.tools.board_request import (
    PERMISSION,
    SOURCES,
    STATES,
    Filters,
    read_filters,
    read_targets,
    require_board,
)
from assistant.contrib.panel.admin.tools.cells import Texts, cells_html
from assistant.contrib.panel.admin.tools.wording import undo_label
from assistant.contrib.panel.services.last_switches import last_switches
from assistant.contrib.panel.services.tool_board import BoardRow, BoardTools, read_board, with_state
from assistant.contrib.panel.services.undone_switches import latest_change
from assistant.models import Tenant
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import Block, read_blocks
from assistant.services.toolpolicy.switch_changes import latest_version
from assistant.toolkit import Tool

TENANTS_ON_A_PAGE = 30


def board_view(request: HttpRequest) -> HttpResponse:
    """Show the board, or set switches; a user with one tenant, or who has picked one, is sent to its switches."""
    require_board(request)
    if request.method == "POST":
        return _post(request)
    only = picked_tenant(request)
    if only is None and not is_operator(request) and tenants_of(request, PERMISSION).count() == 1:
        only = tenants_of(request, PERMISSION).get()
    if only is not None:
        return HttpResponseRedirect(reverse("admin:switchboard_of_tenant", args=[only.slug]))
    return TemplateResponse(request, "admin/assistant/toolsetting/board.html", _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    filters = read_filters(request)
    blocks = read_blocks()
    tools, page, rows = _page(request, filters, blocks)
    changes = last_switches(tenants=[row.tenant for row in rows], tools=[tool.name for tool in tools.tools])
    texts, notes = Texts(), Texts()
    lines = [
        (row.tenant, cells_html(row, state=filters.state, changes=changes, texts=texts, notes=notes)) for row in rows
    ]
    return {
        **admin.site.each_context(request),
        "title": _("Switchboard"),
        "panel_next": reverse("admin:switchboard"),
        "filters": filters,
        "states": [(state, _("overridden") if state == "own" else state_word(state)) for state in STATES],
        "sources": [(one, _("this deployment's") if one == "own" else _("external servers'")) for one in SOURCES],
        "page": page,
        "tools": [_column(tool, blocks) for tool in tools.tools],
        "left_out": tools.left_out,
        "lines": lines,
        "words": {
            "selected": _("Cells selected: {count}"),
            "own": _("own switch"),
            "tenants": _("tenants: {count}"),
            "after": _("After text from outside"),
            "none": _("this tenant has no such tool"),
        },
        "texts": {"rules": texts.found, "notes": notes.found},
        "seen": latest_version(tenants=[row.tenant.pk for row in rows]),
        "undo": undo_label(latest_change(actor=request.user, tenants=tenants_of(request, PERMISSION))),
        "is_operator": is_operator(request),
    }


def _page(
    request: HttpRequest, filters: Filters, blocks: Mapping[str, Block]
) -> tuple[BoardTools, Any, list[BoardRow]]:
    """Return the tools, the page of tenants and its rows. A filter by state searches the rows of all tenants."""
    tenants, number = filters.tenants(request), request.GET.get("page")
    page = None if filters.state else Paginator(tenants, TENANTS_ON_A_PAGE).get_page(number)
    read: Sequence[Tenant] = list(tenants if page is None else page)
    tools = filters.tools(read)
    rows = read_board(tenants=read, tools=tools, blocks=blocks)
    if page is not None:
        return tools, page, rows
    page_of_rows = Paginator(with_state(rows, filters.state), TENANTS_ON_A_PAGE).get_page(number)
    return tools, page_of_rows, list(page_of_rows)


def _column(tool: Tool, blocks: Mapping[str, Block]) -> dict[str, Any]:
    """Return a tool's data for a template, which would call the `Tool` itself."""
    block = blocks.get(tool.name)
    return {
        "name": tool.name,
        "description": tool.description,
        "changes_things": not tool.read_only,
        "asks": tool.requires_approval is not False,
        "is_outside": tool.name not in catalogue.registry(),
        "block": "" if block is None else shown_rule(block.rule),
    }


def _post(request: HttpRequest) -> HttpResponse:
    if "undo" in request.POST:
        return undo(request)
    is_named = any(request.POST.get(name) for name in ("row", "column"))
    shown = _page(request, read_filters(request), read_blocks())[2] if is_named else []
    return change_switches(request, read_targets(request, shown), request.POST.get("policy", ""))
