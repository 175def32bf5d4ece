"""Takes back changes that the page "What changed?" names: a published prompt, a switch, a tool off for everyone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, tenants_of
from assistant.admin.prompts import problems_of
from assistant.contrib.insights.admin.request import PERMISSION
from assistant.contrib.panel.services.text_difference import Difference, difference_of
from assistant.contrib.panel.services.undone_switches import undo_entry
from assistant.models import AuditEntry, PromptVersion
from assistant.services.assistants.prompt_values import UnknownVariables
from assistant.services.assistants.prompts import publish_prompt, text_to_edit
from assistant.services.toolpolicy.blocks import unblock_tool
from assistant.services.toolpolicy.switch_changes import ACTION

Way = Literal["prompt", "switch", "unblock"]
PUBLISH = "prompt.publish"
BLOCK = "tool.block"
# Changes that one press takes back.
MAX_ENTRIES = 8


def way_back(request: HttpRequest, entry: AuditEntry) -> Way | None:
    """Return how the user can take back a change here; None if they cannot."""
    if entry.action == PUBLISH:
        is_allowed = number_before(entry) is not None and _may(request, entry, PERMISSION)
        return "prompt" if is_allowed else None
    if entry.action == ACTION:
        return "switch" if "before" in entry.details and _may(request, entry, "tools") else None
    return "unblock" if entry.action == BLOCK and is_operator(request) else None


def number_before(entry: AuditEntry) -> int | None:
    """Return the number of the prompt version that was published before a publication; None if there was none."""
    values = entry.details.get("values") if isinstance(entry.details, dict) else None
    pair = values.get("published version") if isinstance(values, dict) else None
    number = str(pair[0]) if isinstance(pair, list) and len(pair) == 2 and pair[0] is not None else ""
    return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else None


def difference_back(entry: AuditEntry) -> tuple[Difference, PromptVersion, PromptVersion] | None:
    """Return what a roll back of a publication changes, with the version that was published and the one before it."""
    slug, _space, number = entry.target.rpartition(" v")
    before = number_before(entry)
    versions = PromptVersion.objects.filter(assistant__slug=slug, assistant__tenant=entry.tenant_id)
    is_number = number.isascii() and number.isdigit() and len(number) < 9
    found = {one.number: one for one in versions.filter(number__in=[int(number), before])} if is_number else {}
    if before is None or len(found) < 2:
        return None
    old = found[int(number)]
    new = found[before]
    return difference_of(text_to_edit(old), text_to_edit(new)), old, new


@require_POST
def take_back_view(request: HttpRequest) -> HttpResponse:
    """Take back the changes that are sent as `entry`, and return to `next`. Raises `Http404` for those of others."""
    sent = request.POST.getlist("entry")[:MAX_ENTRIES]
    numbers = [int(one) for one in sent if one.isascii() and one.isdigit() and len(one) < 19]
    entries = list(_visible(request, numbers))
    if not entries or len(entries) < len(set(sent)):
        raise Http404("There is no such change.")
    for entry in entries:
        way = way_back(request, entry)
        if way is None:
            raise Http404("There is no such change.")
        _take_back(request, entry, way)
    back = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    return HttpResponseRedirect(back if is_ours else reverse("admin:what_changed"))


def _visible(request: HttpRequest, numbers: Sequence[int]) -> Sequence[AuditEntry]:
    """Return the entries that the user may know of, the newest first."""
    rows = AuditEntry.objects.filter(pk__in=numbers).select_related("tenant").order_by("-pk")
    if is_operator(request):
        return list(rows)
    return list(rows.filter(tenant__in=tenants_of(request, PERMISSION)))


def _may(request: HttpRequest, entry: AuditEntry, permission: str) -> bool:
    return entry.tenant_id is not None and tenants_of(request, permission).filter(pk=entry.tenant_id).exists()


def _take_back(request: HttpRequest, entry: AuditEntry, way: Way) -> None:
    try:
        done = {"prompt": _prompt, "switch": _switch, "unblock": _unblock}[way](request, entry)
    except UnknownVariables as exc:
        messages.error(request, " ".join(problems_of(exc)))
    except ValidationError as exc:
        messages.warning(request, " ".join(exc.messages))
    else:
        messages.success(request, done)


def _prompt(request: HttpRequest, entry: AuditEntry) -> str:
    slug, _space, number = entry.target.rpartition(" v")
    versions = PromptVersion.objects.filter(assistant__slug=slug, assistant__tenant=entry.tenant_id)
    published = versions.filter(status=PromptVersion.Status.PUBLISHED).first()
    before = versions.filter(number=number_before(entry) or 0).select_related("assistant__tenant").first()
    if before is None or published is None or str(published.number) != number:
        raise ValidationError(
            _("%(change)s was left: another version has been published since.") % {"change": entry.target}
        )
    publish_prompt(version=before, actor=request.user)
    text = _("Version %(number)s of %(assistant)s is published again, and used from the next run on.")
    return text % {"number": before.number, "assistant": before.assistant.name}


def _switch(request: HttpRequest, entry: AuditEntry) -> str:
    if not undo_entry(actor=request.user, entry=entry).changed:
        raise ValidationError(_("%(tool)s was left: it has been switched since.") % {"tool": entry.target})
    return _("%(tool)s is switched back, from the next call on.") % {"tool": entry.target}


def _unblock(request: HttpRequest, entry: AuditEntry) -> str:
    if not unblock_tool(actor=request.user, tool=entry.target):
        raise ValidationError(_("%(tool)s was left: it has been switched since.") % {"tool": entry.target})
    return _("%(tool)s is switched back, from the next call on.") % {"tool": entry.target}
