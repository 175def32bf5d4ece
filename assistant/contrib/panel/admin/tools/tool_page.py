"""A tool's page: what it is, who uses it and how well, and its off switch for the whole deployment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.names import state_word
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, picked_tenant, tenants_of
from assistant.contrib.panel.admin.base.csv_file import csv_response
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.tools.board_changes import change_switches, undo
from assistant.contrib.panel.admin.tools.board_request import PERMISSION, read_targets, require_board
from assistant.contrib.panel.admin.tools.tool_facts import facts_of, facts_of_servers
from assistant.contrib.panel.admin.tools.tool_sections import sections
from assistant.contrib.panel.admin.tools.wording import last_change, time_of, undo_label
from assistant.contrib.panel.reports.affected import CALL_DAYS, OPEN_HOURS, affected_by, sum_of
from assistant.contrib.panel.reports.tool_use import USE_DAYS, ToolUse, use_of_tool
from assistant.contrib.panel.services.last_switches import last_switches
from assistant.contrib.panel.services.tool_board import BoardCell, BoardRow, BoardTools, read_board, tools_named
from assistant.contrib.panel.services.undone_switches import latest_change
from assistant.models import Tenant, ToolSetting
from assistant.models.tool_settings import FOLLOW
from assistant.models.toolblocks import MAX_REASON
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import Block, active_blocks, block_tool, read_blocks, unblock_tool
from assistant.services.toolpolicy.outside_tools import OutsideTool
from assistant.services.toolpolicy.switch_changes import Target, latest_version
from assistant.services.toolpolicy.switch_query import read_secrets
from assistant.toolkit import Tool

TENANTS_ON_A_PAGE = 50
_HOUR = 3600


class BlockForm(forms.Form):
    """Switches a tool off in the whole deployment."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=MAX_REASON,
        help_text=gettext_lazy(
            "Members read it with the end: in their open chats, in the cards of refused calls, and from the model."
        ),
        widget=forms.TextInput(attrs={"size": 50}),
    )
    lasts = forms.TypedChoiceField(
        label=gettext_lazy("For"),
        required=False,
        coerce=int,
        empty_value=None,
        choices=[
            ("", gettext_lazy("until it is switched on again")),
            (_HOUR, gettext_lazy("1 hour")),
            (4 * _HOUR, gettext_lazy("4 hours")),
            (24 * _HOUR, gettext_lazy("1 day")),
            (7 * 24 * _HOUR, gettext_lazy("1 week")),
        ],
    )
    until = forms.DateTimeField(
        label=gettext_lazy("or until (UTC)"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("lasts") and cleaned.get("until"):
            self.add_error("until", _("Choose a duration or an end, not both."))
        return cleaned


def tool_view(request: HttpRequest, name: str) -> HttpResponse:
    """Show a tool's page, or do what its forms ask for: set all switches of it, or switch it off for everyone."""
    require_board(request)
    shown = _shown(request, name)
    if request.method == "GET" and "csv" in request.GET:
        return _as_csv(shown)
    form = BlockForm(request.POST if request.POST.get("do") == "block" else None)
    if request.method == "POST":
        answer = _post(request, shown, form)
        if answer is not None:
            return answer
    return TemplateResponse(request, "admin/assistant/toolsetting/tool.html", _context(request, shown, form))


@dataclass(frozen=True, slots=True)
class _Shown:
    """A tool, or of an external server's one tenant's, and the tenants that have it and that the page is about."""

    tool: Tool
    tools: BoardTools
    tenants: list[Tenant]

    @property
    def of_servers(self) -> list[OutsideTool]:
        """Each tenant's own, if external servers offer it."""
        return [entry for tools in self.tools.outside.values() for entry in tools.values()]


def _shown(request: HttpRequest, name: str) -> _Shown:
    """Return what a page of this name shows. Raises `Http404` if none of the tenants has such a tool."""
    tenants = list(_tenants(request))
    tools = tools_named([name], tenants=[tenant.pk for tenant in tenants])
    if not tools.tools:
        raise Http404("There is no such tool.")
    if name not in catalogue.registry():
        tenants = [tenant for tenant in tenants if tenant.pk in tools.outside]
    return _Shown(tools.tools[0], tools, tenants)


def _post(request: HttpRequest, shown: _Shown, form: BlockForm) -> HttpResponse | None:
    """Return the answer; None if the form is shown again with its errors."""
    do, tool = request.POST.get("do", ""), shown.tool
    if "undo" in request.POST:
        return undo(request)
    if do == "set":
        # The tenants of the page that said who is affected, which may be fewer than there are by now.
        if request.POST.get("cells"):
            targets = read_targets(request)
        else:
            targets = [Target(tenant.pk, None, tool.name) for tenant in shown.tenants]
        return change_switches(request, targets, request.POST.get("policy", ""))
    if do not in ("block", "unblock"):
        raise Http404("There is no such action.")
    if not is_operator(request):
        raise PermissionDenied
    if do == "unblock":
        unblock_tool(actor=request.user, tool=tool.name)
        messages.success(request, _("For everyone: its switches decide again."))
    elif not form.is_valid() or not _block(request, tool, form):
        return None
    return HttpResponseRedirect(request.get_full_path())


def _block(request: HttpRequest, tool: Tool, form: BlockForm) -> bool:
    given = form.cleaned_data
    lasts = None if given["lasts"] is None else timedelta(seconds=given["lasts"])
    try:
        made = block_tool(actor=request.user, tool=tool.name, reason=given["reason"], lasts=lasts, until=given["until"])
    except ValueError as exc:
        form.add_error(None, _("Nothing was changed: %(why)s.") % {"why": exc})
        return False
    messages.success(request, _("For everyone: %(rule)s") % {"rule": shown_rule(made.rule)})
    return True


def _tenants(request: HttpRequest) -> Any:
    """Return the tenants that the page is about: the picked one, else all that the user may see."""
    picked = picked_tenant(request)
    tenants = (
        tenants_of(request, PERMISSION) if picked is None else tenants_of(request, PERMISSION).filter(pk=picked.pk)
    )
    return tenants.order_by("name", "slug")


def _lines(shown: _Shown, rows: Sequence[BoardRow]) -> list[dict[str, Any]]:
    """Return what the table shows of each tenant, those with most calls first, without the last changes."""
    use = {one.tenant.pk: one for one in use_of_tool(tool=shown.tool.name, tenants=shown.tenants, now=timezone.now())}
    settings = _settings(shown.tenants, shown.tool)
    lines = [_line(tenant, cell, use.get(tenant.pk), settings.get(tenant.pk, [])) for tenant, cell in _cells(rows)]
    lines.sort(key=lambda line: (-line["calls"], -len(line["missing"]), line["policy"] == "off", line["tenant"].name))
    return lines


def _as_csv(shown: _Shown) -> HttpResponse:
    """Return the table with all tenants as a CSV file."""
    rows = read_board(tenants=shown.tenants, tools=shown.tools, blocks=read_blocks())
    head = [_("Tenant"), _("State"), _("Calls"), _("Errors"), _("Refused"), "p95 (ms)", _("Last call")]
    lines = [
        (line["tenant"].slug, line["word"], line["calls"], *(_figures(line["use"]) if line["use"] else ("",) * 4))
        for line in _lines(shown, rows)
    ]
    return csv_response(shown.tool.name, head, lines)


def _figures(use: ToolUse) -> tuple[object, ...]:
    return (
        use.failed,
        use.refused,
        "" if use.p95_ms is None else use.p95_ms,
        use.last_at.isoformat() if use.last_at else "",
    )


def _context(request: HttpRequest, shown: _Shown, form: BlockForm) -> dict[str, Any]:
    tool, tenants, now = shown.tool, shown.tenants, timezone.now()
    blocked = _block_of(tool)
    switched = read_board(tenants=tenants, tools=shown.tools, blocks={})
    rows = switched if blocked is None else read_board(tenants=tenants, tools=shown.tools, blocks=read_blocks())
    lines = _lines(shown, rows)
    page = Paginator(lines, TENANTS_ON_A_PAGE).get_page(request.GET.get("page"))
    last = last_switches(tenants=[line["tenant"] for line in page], tools=[tool.name])
    for line in page:
        line["last"] = last_change(last.get((line["tenant"].pk, tool.name)))
    cells = _cells(switched)
    usable = [tenant for tenant, cell in cells if cell.decision.policy != "off"]
    affected = affected_by(tools={one.pk: [tool.name] for one in usable}, tenants=usable, now=now)
    decided = [cell.decision.policy for _tenant, cell in cells]
    return {
        **admin.site.each_context(request),
        **sections(request, tool, tenants),
        "title": tool.name,
        "name_for_people": tool.title,
        "description": tool.description,
        "facts": [*facts_of_servers(shown.of_servers), *facts_of(tool, shown.of_servers)],
        "settings": sorted((tool.config.model_json_schema() if tool.config else {}).get("properties", {})),
        "off_for_everyone": blocked,
        "form": form,
        "page": page,
        "has_secrets": bool(tool.secrets),
        "has_settings": bool(tool.config or tool.secrets),
        "missing": sum(bool(line["missing"]) for line in lines),
        "counts": [(state_word(policy), decided.count(policy)) for policy in ("on", "ask", "off")],
        "sum": sum_of(affected),
        "all_tenants": len(tenants),
        "days": CALL_DAYS,
        "hours": OPEN_HOURS,
        "use_days": USE_DAYS,
        "tool_name": tool.name,
        "is_operator": is_operator(request),
        "policies": [("on", _("On")), ("ask", _("Ask first")), ("off", _("Off")), (FOLLOW, _("Default"))],
        "seen": latest_version(tenants=[tenant.pk for tenant in tenants]),
        "undo": undo_label(latest_change(actor=request.user, tenants=tenants_of(request, PERMISSION))),
        "calls_url": reverse("admin:assistant_toolcall_changelist"),
    }


def _settings(tenants: Sequence[Tenant], tool: Tool) -> Mapping[int, list[ToolSetting]]:
    """Return the tool's stored settings by tenant, the tenant's own first."""
    found: dict[int, list[ToolSetting]] = {}
    rows = ToolSetting.objects.filter(tenant__in=[tenant.pk for tenant in tenants], tool=tool.name)
    for row in rows.order_by("tenant", "assistant_id"):
        found.setdefault(row.tenant_id, []).insert(0 if row.assistant_id is None else len(found[row.tenant_id]), row)
    return found


def _cells(rows: Sequence[BoardRow]) -> list[tuple[Tenant, BoardCell]]:
    """Return the cells of a board of one tool, without the tenants that do not have it."""
    return [(row.tenant, cell) for row in rows for cell in row.cells if cell is not None]


def _line(tenant: Tenant, cell: BoardCell, use: ToolUse | None, settings: Sequence[ToolSetting]) -> dict[str, Any]:
    own = next((one for one in settings if one.assistant_id is None), None)
    is_used = any(one.policy != ToolSetting.Policy.OFF for one in settings) or cell.decision.policy != "off"
    return {
        "tenant": tenant,
        "policy": cell.decision.policy,
        "word": state_word(cell.decision.policy),
        "rule": shown_rule(cell.decision.rule),
        "is_own": cell.own != FOLLOW,
        "calls": use.calls if use else 0,
        "use": use,
        "setting_id": own.pk if own else None,
        "set": sorted(own.config) if own and isinstance(own.config, dict) else [],
        "missing": _missing(settings, cell.tool) if is_used else [],
        "last": "",
    }


def _missing(settings: Sequence[ToolSetting], tool: Tool) -> list[str]:
    """Return the secrets that neither the tenant nor an assistant of it has set."""
    try:
        known = set(read_secrets([one.secrets for one in settings]))
    except ValueError:
        known = set()
    return [name for name in tool.secrets if name not in known]


def _block_of(tool: Tool) -> dict[str, str] | None:
    """Return the rule of a tool that is off for everyone, and who switched it off when."""
    row = active_blocks().select_related("actor").filter(tool=tool.name).first()
    if row is None:
        return None
    who = str(row.actor) if row.actor else _("a command")
    by = _("Switched off by %(who)s, %(when)s") % {"who": who, "when": time_of(row.created_at)}
    return {"rule": shown_rule(Block(row.reason, row.until).rule), "by": by}
