"""Stores the tools that external servers list, quarantines changed ones, and records operators' decisions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from assistant.contrib.mcp_servers.models import McpServer, McpTool
from assistant.contrib.mcp_servers.services.circuit_breaker import record_success
from assistant.mcp_client import Listing, RemoteFailure, ToolDefinition
from assistant.mcp_client.definitions import difference
from assistant.models import AuditEntry
from assistant.services.tenancy import audit_trail, change_notices

# The most rows of one server: the tools that it may list, and some that it no longer lists but operators decided on.
MAX_ROWS = 240
# Of the tools that cannot be used, so many are stored with their reasons.
MAX_LEFT_OUT = 50
# A server may change a tool back and forth: the audit trail records it at most once in this interval.
QUARANTINE_RECORD_INTERVAL = timedelta(hours=1)
# Rows with the values of new ones.
UNDECIDED = Q(is_allowed=False, needs_approval=True)


@transaction.atomic
def store_listing(
    *,
    tenant_id: int,
    server_id: int,
    listing: Listing,
    credential_id: int | None = None,
    by_operator: bool = False,
) -> None:
    """Store what a server lists. New tools, and tools that differ from what was accepted, wait for an operator.

    Tools that are no longer listed are deleted, unless an operator has decided on them. At most `MAX_ROWS` are stored.
    Of a listing that could not be read to its end nothing is known to be no longer listed. What was left out of it is
    stored with its reasons, for the server's page.

    Args:
        credential_id: the member's own credentials that were used, if any. Such a listing only adds tools, because
            other members may be offered different ones.
        by_operator: whether an operator asked for the listing, which is allowed for inactive servers too. It then also
            updates definitions, because the operator decides on what it shows.

    Raises:
        RemoteFailure: the tenant has no such server (`gone`).
    """
    servers = McpServer.objects.select_for_update(of=("self",)).filter(pk=server_id, tenant_id=tenant_id)
    server = (servers if by_operator else servers.filter(is_active=True, tenant__is_active=True)).first()
    if server is None:
        raise RemoteFailure("gone", "there is no such active server")
    listed = {definition.name: definition for definition in listing.tools}
    rows = McpTool.objects.filter(server=server, server__tenant_id=tenant_id)
    is_whole = credential_id is None and not listing.unread
    gone = _delete_unlisted(rows, listed) if is_whole else _delete_surplus(rows, listed)
    known = {row.name: row for row in rows}
    new = [definition for name, definition in listed.items() if name not in known]
    new = new[: max(0, MAX_ROWS - len(known))]
    changed = [one for name, one in listed.items() if name in known and _differs(known[name], one)]
    if credential_id is not None and not by_operator:
        changed = [one for one in changed if one.digest == known[one.name].digest]
    _store(server, [*new, *changed])
    for definition in changed:
        row = known[definition.name]
        if row.is_allowed and not is_quarantined(row) and definition.digest != row.accepted_digest:
            _record_quarantine(server, row.name)
    if credential_id is None or by_operator:
        server.left_out = _shown(listing)
    record_success(server=server, credential_id=credential_id)
    if gone or new or changed:
        change_notices.notify()


def _shown(listing: Listing) -> list[list[str]]:
    """Return what was left out of a listing, as pairs of name and reason."""
    pairs = [[name, reason] for name, reason in listing.left_out.items()][:MAX_LEFT_OUT]
    more = len(listing.left_out) - len(pairs)
    return [*pairs, *([["…", f"{more} more"]] if more else []), *([["", listing.unread]] if listing.unread else [])]


def _delete_unlisted(rows: QuerySet[McpTool], listed: Collection[str]) -> int:
    """Delete undecided tools that are no longer listed and mark the others as unlisted; return the number of rows."""
    missing = rows.exclude(name__in=listed)
    forgotten, _ = missing.filter(UNDECIDED).delete()
    return forgotten + missing.filter(is_listed=True).update(is_listed=False, changed_at=timezone.now())


def _delete_surplus(rows: QuerySet[McpTool], listed: Collection[str]) -> int:
    """Delete undecided unlisted tools, the oldest first, if `MAX_ROWS` requires it; return the number of rows."""
    missing = rows.exclude(name__in=listed)
    surplus = max(0, missing.count() + len(listed) - MAX_ROWS)
    oldest = missing.filter(UNDECIDED).order_by("changed_at").values("pk")[:surplus]
    return rows.filter(pk__in=oldest).delete()[0]


def _differs(row: McpTool, definition: ToolDefinition) -> bool:
    return row.digest != definition.digest or not row.is_listed


def _store(server: McpServer, definitions: Iterable[ToolDefinition]) -> None:
    """Create or update rows without changing what was decided on them."""
    McpTool.objects.bulk_create(
        [
            McpTool(server=server, name=one.name, definition=one.to_state(), digest=one.digest)
            for one in definitions
        ],
        update_conflicts=True,
        unique_fields=["server", "name"],
        update_fields=["definition", "digest", "is_listed", "changed_at"],
    )  # fmt: skip


def _record_quarantine(server: McpServer, name: str) -> None:
    action, target = "mcptool.quarantine", f"{server}: {name}"
    recorded = AuditEntry.objects.filter(tenant=server.tenant, action=action, target=target)
    if not recorded.filter(created_at__gt=timezone.now() - QUARANTINE_RECORD_INTERVAL).exists():
        audit_trail.record(actor=None, action=action, target=target, tenant=server.tenant)


def is_quarantined(row: McpTool) -> bool:
    """Return whether a tool's definition differs from the accepted one."""
    return row.is_allowed and row.accepted_digest != row.digest


def change_of(row: McpTool) -> str:
    """Return a readable difference to the accepted definition, or "" if there is none."""
    if not is_quarantined(row) or row.accepted is None:
        return ""
    return difference(ToolDefinition.from_state(row.accepted), ToolDefinition.from_state(row.definition))


@transaction.atomic
def decide_tool(
    *, actor: audit_trail.Actor, tenant_id: int, tool_id: int, is_allowed: bool, needs_approval: bool, accepts: str = ""
) -> None:
    """Let a tool in or keep it out, from the next call on, in every process.

    Args:
        accepts: the digest of the definition that the operator has read; required to let a tool in or to take it out of
            quarantine.

    Raises:
        ValueError: the tool has changed since the operator read it.
    """
    row = McpTool.objects.select_for_update().select_related("server__tenant").get(
        pk=tool_id, server__tenant_id=tenant_id
    )  # fmt: skip
    before = (row.is_allowed, row.needs_approval, row.accepted_digest)
    if is_allowed and (accepts or not row.is_allowed):
        if accepts != row.digest:
            raise ValueError(f"The server has changed {row.name!r} meanwhile; read it again.")
        row.accepted, row.accepted_digest = row.definition, row.digest
    row.is_allowed, row.needs_approval = is_allowed, needs_approval
    if before == (row.is_allowed, row.needs_approval, row.accepted_digest):
        return
    row.save(update_fields=["accepted", "accepted_digest", "is_allowed", "needs_approval", "changed_at"])
    audit_trail.record(
        actor=actor,
        action="mcptool.decide",
        target=f"{row.server}: {row.name}",
        tenant=row.server.tenant,
        details={"allowed": is_allowed, "asks first": needs_approval, "definition": row.accepted_digest[:12]},
    )
    change_notices.notify()
