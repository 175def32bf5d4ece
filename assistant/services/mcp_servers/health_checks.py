"""Asks outside servers what they list: at a press of a button, and now and then by itself."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from assistant.mcp_client import RemoteFailure, connect
from assistant.models import McpServer
from assistant.services.db.threads import in_database
from assistant.services.mcp_servers.calls import listener_of
from assistant.services.mcp_servers.circuit_breaker import REST, note_failure
from assistant.services.mcp_servers.servers import Connection, connection_of
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

# A listing older than this is read anew when the tenant's next run asks for tools.
FRESH = timedelta(minutes=10)
# How often, in one process, a tenant's runs look whether anything is stale.
LOOK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Examination:
    """What came of trying a server: a sentence for whoever tried it, and a detail for operators."""

    is_well: bool
    sentence: str
    detail: str = ""
    is_refused: bool = False

    @property
    def full_sentence(self) -> str:
        """For operators."""
        return f"{self.sentence} ({self.detail})" if self.detail else self.sentence


async def examine(*, tenant_id: int, server_id: int, user_id: UserId, by_operator: bool = True) -> Examination:
    """Connect, list the tools and store them, within seconds.

    Args:
        user_id: who tries it, and with whose credentials if each member has their own.
        by_operator: who may try a server that is not switched on, too, and decides on what they are offered.
    """
    connection = None
    try:
        connection = await in_database(
            connection_of, tenant_id=tenant_id, server_id=server_id, user_id=user_id, even_if_off=by_operator
        )
        async with connect(connection.endpoint, on_tools=listener_of(connection, by_operator=by_operator)) as session:
            name = f" It calls itself {session.server_name}." if session.server_name else ""
            count = "1 tool" if len(session.tools) == 1 else f"{len(session.tools)} tools"
            sentence = f"It lists {count}, over MCP {session.protocol_version}.{name}"
    except RemoteFailure as exc:
        # A member who has set no credentials says nothing of the server.
        if connection is not None or exc.kind == "unreachable":
            own = connection.credential_id if connection is not None else None
            await in_database(note_failure, tenant_id=tenant_id, server_id=server_id, failure=exc, credential_id=own)
        return Examination(False, str(exc), exc.detail, is_refused=exc.kind == "unauthorized")
    return Examination(True, sentence)


_looks: PerLoop[dict[int, float]] = PerLoop(dict)
_at_work: set[asyncio.Task[None]] = set()


def keep_fresh(tenant_id: int) -> None:
    """See to it that the tenant's listings are no older than `FRESH`, soon; nobody waits for it."""
    looked, now = _looks.get(), time.monotonic()
    if now - looked.get(tenant_id, -LOOK_SECONDS) >= LOOK_SECONDS:
        looked[tenant_id] = now
        task = asyncio.create_task(_refresh(tenant_id), name=f"mcp-refresh-{tenant_id}")
        _at_work.add(task)
        task.add_done_callback(_at_work.discard)


async def _refresh(tenant_id: int) -> None:
    try:
        stale = await in_database(claim_stale, tenant_id=tenant_id)
        await asyncio.gather(*(_read_anew(connection) for connection in stale))
    except Exception:
        logger.exception("The MCP servers of tenant %s could not be looked after", tenant_id)


def claim_stale(*, tenant_id: int) -> list[Connection]:
    """The servers whose listing is due, each claimed for this process; those with members' own credentials are read
    when these members call them."""
    now = timezone.now()
    rows = McpServer.objects.filter(tenant_id=tenant_id, is_active=True, credentials_of=McpServer.Speakers.TENANT)
    is_due = Q(checked_at=None) | Q(checked_at__lt=now - FRESH)
    is_due |= Q(health=McpServer.Health.DOWN, checked_at__lt=now - REST)
    claimed = []
    for pk, checked_at in rows.filter(is_due).values_list("pk", "checked_at"):
        same = McpServer.objects.filter(pk=pk, tenant_id=tenant_id, checked_at=checked_at)
        if same.update(checked_at=now):
            try:
                claimed.append(connection_of(tenant_id=tenant_id, server_id=pk, user_id=0))
            except RemoteFailure as exc:
                note_failure(tenant_id=tenant_id, server_id=pk, failure=exc)
    return claimed


async def _read_anew(connection: Connection) -> None:
    try:
        async with connect(connection.endpoint, on_tools=listener_of(connection)):
            return
    except RemoteFailure as exc:
        await in_database(note_failure, tenant_id=connection.tenant_id, server_id=connection.server_id, failure=exc)
