"""What providers lose of an external server's tool, or refuse, for the page on which it is let in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db.models import Q
from django.utils.translation import gettext

from assistant.contrib.mcp_servers.models import McpTool
from assistant.contrib.mcp_servers.services.tools import listed_tool
from assistant.models import Provider
from assistant.providers import FORMATS
from assistant.providers.tool_adaptation.adapted_tool import adapted, digest_of, notes_of, rules_of
from assistant.toolkit import Tool


def provider_notes(row: McpTool) -> list[str]:
    """Return sentences about a tool as its server lists it now; [] if every provider takes it as it is.

    Args:
        row: with its server. The providers are read once for all tools of a server.
    """
    tool = listed_tool(row)
    if tool is None:
        return [gettext("It cannot be offered to any model.")]
    refusals = [
        gettext("%(provider)s refuses it: %(why)s") % {"provider": name, "why": why}
        for name, why in _refused_by(tool, _providers(row))
    ]
    return [*refusals, *notes_of(tool)]


def _refused_by(tool: Tool, providers: Iterable[Provider]) -> Iterator[tuple[str, str]]:
    """Yield which of these providers have refused a tool as it is now, as pairs of name and reason."""
    for provider in providers:
        if provider.wire_format in FORMATS:
            entry = provider.refused_tools.get(digest_of(adapted(tool, rules_of(provider.wire_format)).tool))
            if isinstance(entry, dict):
                yield provider.name, str(entry.get("reason", ""))


def _providers(row: McpTool) -> list[Provider]:
    """Return the providers that may answer for the tenant and have refused a tool."""
    server = row.server
    known: list[Provider] | None = getattr(server, "refusing_providers", None)
    if known is None:
        rows = Provider.objects.filter(Q(tenant_id=server.tenant_id) | Q(tenant=None)).exclude(refused_tools={})
        known = list(rows.only("pk", "name", "wire_format", "refused_tools"))
        server.refusing_providers = known  # type: ignore[attr-defined]
    return known
