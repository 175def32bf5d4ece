"""What outside servers list: stored, compared with what was let in, and decided on by operators."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from assistant.mcp.client import ToolDefinition
from assistant.mcp.client.definitions import difference
from assistant.models import McpServer, McpTool
from assistant.services import audit, news
from assistant.services.mcpcircuits import note_answer


@transaction.atomic
def store_listing(
    *, tenant_id: int, server_id: int, tools: Iterable[ToolDefinition], credential_id: int | None = None
) -> None:
    """Keep what a server lists now. A tool that is new, or not as it was let in, waits for an operator.

    Args:
        credential_id: whose list it is where each member has their own: one member's says nothing of what is missing.
    """
    server = McpServer.objects.select_for_update().filter(pk=server_id, tenant_id=tenant_id).first()
    if server is None:
        return
    known = {row.name: row for row in McpTool.objects.filter(server=server, server__tenant_id=tenant_id)}
    listed = {definition.name: definition for definition in tools}
    changed = [_store(server, known.get(name), definition) for name, definition in listed.items()]
    for row in known.values():
        if credential_id is None and row.name not in listed and row.is_listed:
            row.is_listed = False
            row.save(update_fields=["is_listed", "changed_at"])
            changed.append(True)
    note_answer(server=server, credential_id=credential_id)
    if any(changed):
        news.announce()


def _store(server: McpServer, row: McpTool | None, definition: ToolDefinition) -> bool:
    """Keep one definition; whether it is another than before."""
    digest = definition.digest
    if row is None:
        McpTool.objects.create(server=server, name=definition.name, definition=definition.to_state(), digest=digest)
        return True
    if row.digest == digest and row.is_listed:
        return False
    row.definition, row.digest, row.is_listed = definition.to_state(), digest, True
    row.save(update_fields=["definition", "digest", "is_listed", "changed_at"])
    if row.is_let_in and digest != row.accepted_digest:
        audit.record(actor=None, action="mcptool.quarantine", target=f"{server}: {row.name}", tenant=server.tenant)
    return True


def is_quarantined(row: McpTool) -> bool:
    """Whether a tool is no longer what was let in."""
    return row.is_let_in and row.accepted_digest != row.digest


def change_of(row: McpTool) -> str:
    """What changed since a tool was let in, as a difference to read; empty if nothing did."""
    if not is_quarantined(row) or row.accepted is None:
        return ""
    return difference(ToolDefinition.from_state(row.accepted), ToolDefinition.from_state(row.definition))


@transaction.atomic
def decide_tool(
    *, actor: audit.Actor, tenant_id: int, tool_id: int, is_let_in: bool, needs_approval: bool, accepts: str = ""
) -> None:
    """Let a tool in or keep it out; it holds for the next call, in every process.

    Args:
        accepts: the digest of the definition that the operator has read; needed to let a tool in, and to take one out
            of quarantine.

    Raises:
        ValueError: the tool has changed since the operator read it.
    """
    row = McpTool.objects.select_for_update().select_related("server__tenant").get(
        pk=tool_id, server__tenant_id=tenant_id
    )  # fmt: skip
    before = (row.is_let_in, row.needs_approval, row.accepted_digest)
    if is_let_in and (accepts or not row.is_let_in):
        if accepts != row.digest:
            raise ValueError(f"The server has changed {row.name!r} meanwhile; read it again.")
        row.accepted, row.accepted_digest = row.definition, row.digest
    row.is_let_in, row.needs_approval = is_let_in, needs_approval
    if before == (row.is_let_in, row.needs_approval, row.accepted_digest):
        return
    row.save(update_fields=["accepted", "accepted_digest", "is_let_in", "needs_approval", "changed_at"])
    audit.record(
        actor=actor,
        action="mcptool.decide",
        target=f"{row.server}: {row.name}",
        tenant=row.server.tenant,
        details={"let in": is_let_in, "asks first": needs_approval, "definition": row.accepted_digest[:12]},
    )
    news.announce()
