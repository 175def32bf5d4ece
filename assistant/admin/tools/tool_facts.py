"""What a tool declares, as names and sentences for its page."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assistant.toolkit import Tool
from assistant.toolkit.definition.context_use import WHOLE, context_keys


def facts_of(tool: Tool) -> list[tuple[str, str]]:
    """Return what the tool declares, as names and sentences."""
    keys = context_keys(tool)
    reads = ", ".join(_("anything: it gives the whole context away") if key == WHOLE else key for key in keys)
    asks = _("Before some calls.")
    if isinstance(tool.requires_approval, bool):
        asks = _("Before every call.") if tool.requires_approval else _("No.")
    facts = [
        (_("Changes things"), _("No, it only reads.") if tool.read_only else _("Yes.")),
        (_("Asks by itself"), asks),
        (_("Without a switch"), _("On.") if tool.enabled_by_default else _("Off.")),
        (_("Reads of its context"), reads or _("Nothing.")),
    ]
    if tool.permission:
        facts.append((_("Needs the permission"), tool.permission))
    if tool.destinations:
        facts.append((_("Sends to"), ", ".join(tool.destinations)))
    if tool.secrets:
        facts.append((_("Secrets"), ", ".join(tool.secrets)))
    if tool.timeout:
        count = int(tool.timeout)
        facts.append((_("Ends after"), ngettext("%(count)d second", "%(count)d seconds", count) % {"count": count}))
    return facts
