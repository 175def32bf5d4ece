"""Changes of many switches of tenants at once: who is affected first, and undo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assistant.admin.base.names import state_word
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.panel.admin.tools.board_request import PERMISSION, cells_of, seen_in
from assistant.contrib.panel.admin.tools.cells import classes_of, texts_of
from assistant.contrib.panel.admin.tools.wording import (
    change_message,
    last_change,
    left_message,
    overtaken_message,
    undo_label,
)
from assistant.contrib.panel.reports.affected import CALL_DAYS, OPEN_HOURS, affected_by, sum_of
from assistant.contrib.panel.services.last_switches import last_switches
from assistant.contrib.panel.services.tool_board import BoardRow, read_board, tools_named
from assistant.contrib.panel.services.undone_switches import latest_change, lead_change, undo_change
from assistant.models import Tenant
from assistant.models.tool_settings import FOLLOW
from assistant.services.toolpolicy.blocks import read_blocks
from assistant.services.toolpolicy.switch_changes import (
    POLICIES,
    Change,
    Target,
    latest_version,
    set_switches,
)

# Tenants that the page of a change names one by one.
NAMED_TENANTS = 60


def change_switches(request: HttpRequest, targets: Sequence[Target], policy: str) -> HttpResponse:
    """Set switches of the user's tenants; first show who is affected, if there is more than one tenant.

    A script that sets the switches of one tenant gets JSON.
    """
    is_script = request.headers.get("X-Requested-With") == "fetch"
    try:
        if len({target.tenant_id for target in targets}) > 1 and request.POST.get("confirmed") != "1":
            return _confirm(request, targets, policy)
        with transaction.atomic():
            change = set_switches(actor=request.user, targets=targets, policy=policy, seen=seen_in(request))
            if len(change.changed) > 1:
                lead_change(change)
    except ValueError as exc:
        sentence = _("Nothing was changed: %(why)s.") % {"why": exc}
        if is_script:
            return JsonResponse({"error": sentence}, status=400)
        messages.error(request, sentence)
        return HttpResponseRedirect(request.get_full_path())
    if is_script:
        changed = _changed(request, targets)
        return JsonResponse({**changed, "message": change_message(change, policy), "overtaken": _overtaken(change)})
    if change.changed or not change.overtaken:
        messages.success(request, change_message(change, policy))
    if change.overtaken:
        messages.error(request, _overtaken(change))
    return HttpResponseRedirect(request.get_full_path())


def _overtaken(change: Change) -> str:
    """Return who has set the switches meanwhile that a change has left; "" if nobody has."""
    if not change.overtaken:
        return ""
    tenants = Tenant.objects.filter(pk__in={target.tenant_id for target in change.overtaken})
    names = {target.tool for target in change.overtaken}
    last = last_switches(tenants=list(tenants), tools=list(names))
    by_tenant = {tenant.pk: tenant.name for tenant in tenants}
    return overtaken_message(
        [
            (target.tool, by_tenant[target.tenant_id], last.get((target.tenant_id, target.tool)))
            for target in change.overtaken
        ]
    )


def undo(request: HttpRequest) -> HttpResponse:
    """Take a change of the user's own back."""
    try:
        change = undo_change(
            actor=request.user, change=request.POST["undo"][:32], tenants=tenants_of(request, PERMISSION)
        )
    except LookupError:
        messages.error(request, _("There is no change of yours of the last ten minutes to take back."))
    else:
        count = len(change.changed)
        done = ngettext("%(count)d switch is as before.", "%(count)d switches are as before.", count) % {"count": count}
        messages.success(request, " ".join([done, *left_message(change)]))
    return HttpResponseRedirect(request.get_full_path())


def _changed(request: HttpRequest, targets: Sequence[Target]) -> dict[str, Any]:
    """Return the cells of one tenant's switches as they are now, for a script."""
    tenant = tenants_of(request, PERMISSION).get(pk=targets[0].tenant_id)
    names = {target.tool for target in targets}
    tools = tools_named(names, tenants=[tenant.pk])
    (row,) = read_board(tenants=[tenant], tools=tools, blocks=read_blocks())
    changes = last_switches(tenants=[tenant], tools=list(names))
    cells = {
        cell.tool.name: {
            "class": classes_of(cell),
            "word": state_word(cell.decision.policy),
            "texts": texts_of(cell),
            "note": last_change(changes.get((tenant.pk, cell.tool.name))),
        }
        for cell in row.cells
        if cell is not None
    }
    latest = latest_change(actor=request.user, tenants=tenants_of(request, PERMISSION))
    seen = latest_version(tenants=[tenant.pk])
    return {"tenant": tenant.pk, "cells": cells, "seen": seen, "undo": undo_label(latest)}


def _confirm(request: HttpRequest, targets: Sequence[Target], policy: str) -> HttpResponse:
    """Show which tenants a change reaches, what becomes of their tools, and what uses these."""
    if policy not in (*POLICIES, FOLLOW):
        raise ValueError(f"a policy is any of {', '.join(POLICIES)} or {FOLLOW}")
    wanted = {(target.tenant_id, target.tool) for target in targets}
    tenants = list(tenants_of(request, PERMISSION).filter(pk__in={tenant for tenant, _tool in wanted}).order_by("name"))
    names = {tool for _tenant, tool in wanted}
    tools = tools_named(names, tenants=[tenant.pk for tenant in tenants])
    blocks = read_blocks()
    before = read_board(tenants=tenants, tools=tools, blocks=blocks)
    after = read_board(
        tenants=tenants,
        tools=tools,
        blocks=blocks,
        instead=lambda tenant, tool: policy if (tenant, tool) in wanted else None,
    )
    steps = {old.tenant.pk: _steps(old, new) for old, new in zip(before, after, strict=True)}
    changed = {pk: [name for name, _was, _becomes in found] for pk, found in steps.items() if found}
    affected = affected_by(
        tools=changed, tenants=[tenant for tenant in tenants if tenant.pk in changed], now=timezone.now()
    )
    context = {
        **admin.site.each_context(request),
        "title": _("Who is affected"),
        "panel_next": reverse("admin:switchboard"),
        "affected": [(one, _summary(steps[one.tenant.pk])) for one in affected[:NAMED_TENANTS]],
        "more": max(0, len(affected) - NAMED_TENANTS),
        "sum": sum_of(affected),
        "switches": len(targets),
        "tenants": len(tenants),
        "tools": sorted(names),
        "days": CALL_DAYS,
        "hours": OPEN_HOURS,
        "policy": policy,
        "word": state_word(policy),
        "cells": cells_of(targets),
        "seen": request.POST.get("seen", ""),
        "action": request.get_full_path(),
        "do": request.POST.get("do", ""),
    }
    return TemplateResponse(request, "admin/assistant/toolsetting/affected.html", context)


def _steps(old: BoardRow, new: BoardRow) -> list[tuple[str, str, str]]:
    """Return the tools of a tenant of which the decision changes, with the policy before and after."""
    pairs = [(was, becomes) for was, becomes in zip(old.cells, new.cells, strict=True) if was and becomes]
    return [
        (was.tool.name, was.decision.policy, becomes.decision.policy)
        for was, becomes in pairs
        if was.decision.policy != becomes.decision.policy
    ]


def _summary(steps: Sequence[tuple[str, str, str]]) -> str:
    """Return "3 tools: on → off", for each kind of step."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for name, was, becomes in steps:
        kinds.setdefault((was, becomes), []).append(name)
    return "; ".join(
        f"{', '.join(names[:3])}{_more(names)}: {state_word(was)} → {state_word(becomes)}"
        for (was, becomes), names in kinds.items()
    )


def _more(names: Sequence[str]) -> str:
    return f" +{len(names) - 3}" if len(names) > 3 else ""
