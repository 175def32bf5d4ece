"""A tenant's outside tools as `Tool` values, with the reason why one cannot be used, if any."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from assistant.contrib.mcp_servers.models import McpCredential, McpServer, McpTool
from assistant.contrib.mcp_servers.services.calls import call_remote
from assistant.contrib.mcp_servers.services.circuit_breaker import is_open
from assistant.contrib.mcp_servers.services.tool_listings import is_quarantined
from assistant.mcp_client import ToolDefinition, remote_tool
from assistant.mcp_client.remote_tool import prefixed
from assistant.services.toolpolicy.outside_tools import OutsideTool
from assistant.toolkit import InvalidTool, Tool
from assistant.toolkit.context import UserId


@dataclass(frozen=True, slots=True)
class _Definition:
    """A definition that is compared and hashed only by its digest, for the cache."""

    digest: str
    state: dict[str, Any] = field(compare=False, repr=False)


def remote_tools(*, tenant_id: int, user_id: UserId | None) -> list[OutsideTool]:
    """Return the tools of the tenant's active servers in a fixed order, with one query.

    Args:
        user_id: the member whose credentials are checked; None to ignore credentials, for pages about all members.
    """
    own = McpCredential.objects.of_member(user_id or 0).filter(server=OuterRef("server"), server__tenant_id=tenant_id)
    rows = (
        McpTool.objects.filter(
            Q(is_listed=True) | Q(is_allowed=True), server__tenant_id=tenant_id, server__is_active=True
        )
        .select_related("server")
        .defer("server__headers", "server__oauth_client_secret")
        .annotate(has_credentials=Exists(own), own_rest=Exists(own.filter(rests_until__gt=timezone.now())))
        .order_by("server__prefix", "name")
    )
    tools: list[OutsideTool] = []
    row: Any  # with its annotations
    for row in rows:
        entry = remote_tool_of(row)
        if entry is None:
            continue
        own_refusal = "" if user_id is None else _own_refusal(row.server, row.has_credentials, row.own_rest)
        tools.append(replace(entry, refusal=entry.refusal or own_refusal))
    return tools


def remote_tool_of(row: McpTool) -> OutsideTool | None:
    """Return a stored tool, whose server was read with it; None if its definition is no longer valid."""
    tool = _tool_of(row)
    if tool is None:
        return None
    return OutsideTool(tool, _refusal(row), row.is_allowed, row.server.name, tuple(row.server.context_keys))


def listed_tool(row: McpTool) -> Tool | None:
    """Return a stored tool as its server lists it now, whether or not it was accepted; None if it is not valid."""
    return _built_or_none(row, _Definition(row.digest, row.definition))


def _refusal(row: McpTool) -> str:
    server = row.server
    if not row.is_allowed:
        return f"Not allowed on the page of the server {server.name}."
    if is_quarantined(row):
        return f"The server {server.name} has changed it since it was allowed."
    if not row.is_listed:
        return f"The server {server.name} no longer offers it."
    return f"The server {server.name} does not answer." if is_open(server) else ""


def _own_refusal(server: McpServer, has_credentials: bool, rests: bool) -> str:
    """Return why the member's own credentials cannot be used, or ""."""
    if server.credentials_of == McpServer.CredentialOwner.TENANT:
        return ""
    if not has_credentials:
        return f"The user has no credentials for the server {server.name}."
    return f"The server {server.name} does not answer to the user's credentials." if rests else ""


def _tool_of(row: McpTool) -> Tool | None:
    """Return the tool as it was accepted, else as it is listed; None if its definition is no longer valid."""
    accepted = row.accepted if row.is_allowed else None
    definition = (
        _Definition(row.digest, row.definition) if accepted is None else _Definition(row.accepted_digest, accepted)
    )
    return _built_or_none(row, definition)


def _built_or_none(row: McpTool, definition: _Definition) -> Tool | None:
    try:
        return _built(row.server_id, row.server.prefix, definition, row.server.timeout_seconds, row.needs_approval)
    except (InvalidTool, TypeError):
        return None


@lru_cache(maxsize=4096)
def _built(server_id: int, prefix: str, stored: _Definition, timeout: int, needs_approval: bool) -> Tool:
    definition = ToolDefinition.from_state(stored.state)
    return remote_tool(
        name=prefixed(prefix, definition.name),
        definition=definition,
        call=partial(call_remote, server_id, definition.name, stored.digest),
        timeout=timeout,
        requires_approval=needs_approval,
    ).replace(enabled_by_default=True)
