"""What a tool declares, as names and sentences for its page."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assistant.contrib.panel.services.context_use import WHOLE, context_keys
from assistant.services.toolpolicy.outside_tools import OutsideTool
from assistant.toolkit import Tool

# Servers that a page names one by one.
NAMED_SERVERS = 5


def facts_of_servers(tools: Sequence[OutsideTool]) -> list[tuple[str, str]]:
    """Return where an outside tool comes from, given each tenant's own; nothing for a tool of this deployment."""
    if not tools:
        return []
    servers = sorted({entry.server for entry in tools})
    more = len(servers) - NAMED_SERVERS
    names = ", ".join(servers[:NAMED_SERVERS]) + (f" +{more}" if more > 0 else "")
    allowed = _("at %(some)d of %(all)d") % {"some": sum(entry.is_allowed for entry in tools), "all": len(tools)}
    facts = [(_("External server"), names), (_("Allowed"), allowed)]
    if len({(entry.tool.description, str(entry.tool.parameters)) for entry in tools}) > 1:
        facts.append((_("Differs"), _("The servers describe it differently; this is one of the descriptions.")))
    return facts


def facts_of(tool: Tool, of_servers: Sequence[OutsideTool] = ()) -> list[tuple[str, str]]:
    """Return what the tool declares, as names and sentences.

    Args:
        of_servers: each tenant's own, if external servers offer it. They read what their servers are sent.
    """
    sent = sorted({key for entry in of_servers for key in entry.context_keys})
    keys = sent if of_servers else context_keys(tool)
    reads = ", ".join(_("anything: it gives the whole context away") if key == WHOLE else key for key in keys)
    asks = _("Before some calls.")
    if isinstance(tool.requires_approval, bool):
        asks = _("Before every call.") if tool.requires_approval else _("No.")
    without = _("On.") if tool.enabled_by_default else _("Off.")
    without = _("On, once it is allowed.") if of_servers else without
    facts = [
        (_("Changes things"), _("No, it only reads.") if tool.read_only else _("Yes.")),
        (_("Asks by itself"), asks),
        (_("Without a switch"), without),
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
