"""What happens with the tools of a board now, as JSON that its pages ask for again and again."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.panel.admin.tools.board_request import PERMISSION, number_in
from assistant.contrib.panel.reports.tool_now import ToolNow, tools_now
from assistant.services.text import in_one_sentence

# More than a page of the board shows.
MAX_TENANTS = 50


@require_safe
def board_now_view(request: HttpRequest) -> HttpResponse:
    """Return state and sentence of the cells in which something happens, by `tenant:assistant:tool`.

    The query has `tenants`, ids separated by commas, and `by=assistant` for the cells of assistants too.
    """
    asked = {number_in(one) for one in request.GET.get("tenants", "").split(",")}
    if not 0 < len(asked) <= MAX_TENANTS:
        raise Http404("There are no such tenants.")
    seen = list(tenants_of(request, PERMISSION).filter(pk__in=asked).values_list("pk", flat=True))
    if len(seen) != len(asked):
        raise Http404("There are no such tenants.")
    found = tools_now(tenants=seen, now=timezone.now(), by_assistant=request.GET.get("by") == "assistant")
    cells = {
        f"{one.tenant_id}:{one.assistant_id or ''}:{one.tool}": {"state": _state(one), "text": sentence(one)}
        for one in found
    }
    return JsonResponse({"cells": cells}, headers={"Cache-Control": "no-store"})


def _state(one: ToolNow) -> str:
    """Return what a cell shows: what needs somebody first."""
    if one.waiting:
        return "waits"
    return "failed" if one.failed else "calls"


def sentence(one: ToolNow) -> str:
    """Return what happens in a cell, in words."""
    parts = [ngettext("%(n)s call", "%(n)s calls", one.calls) % {"n": one.calls}]
    if one.failed:
        parts.append(_("%(n)s failed") % {"n": one.failed})
    if one.refused:
        parts.append(_("%(n)s refused") % {"n": one.refused})
    said = [_("In the last hour %(what)s") % {"what": ", ".join(parts)}] if one.calls else []
    if one.waiting:
        said.append(
            ngettext("%(n)s waits for an approval", "%(n)s wait for an approval", one.waiting) % {"n": one.waiting}
        )
    return f"{in_one_sentence(said)}."
