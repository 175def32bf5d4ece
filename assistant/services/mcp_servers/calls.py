"""Calls to outside servers: by the calling member's own session, with their credentials, and what they may tell."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.mcp_client import OnTools, RemoteFailure, SessionPool, ToolDefinition
from assistant.services.db.threads import in_database
from assistant.services.mcp_servers.circuit_breaker import note_failure
from assistant.services.mcp_servers.servers import Connection, connection_of, meta_of
from assistant.services.mcp_servers.tool_listings import store_listing
from assistant.toolkit import ToolContext, ToolResult
from assistant.toolkit.per_loop import PerLoop

if TYPE_CHECKING:
    from assistant.mcp_client.session import RemoteSession

logger = logging.getLogger(__name__)

# A call goes by a listing that is no older.
LISTING_SECONDS = 60.0

_at_work: set[asyncio.Task[tuple[RemoteSession, ToolDefinition | None]]] = set()
_pools = PerLoop(SessionPool)


def session_pool() -> SessionPool:
    """The open sessions of the event loop that is running."""
    return _pools.get()


async def call_remote(
    server_id: int, name: str, digest: str, arguments: dict[str, Any], context: ToolContext
) -> ToolResult:
    """Call a server's tool for the member of `context`, if it is still what was let in (`digest`).

    Raises:
        RemoteFailure: the tool gave no answer; `kind` says why.
    """
    connection = await in_database(
        connection_of,
        tenant_id=int(context.tenant.id or 0),
        server_id=server_id,
        user_id=context.user.id or 0,
    )
    call = partial(_call, connection, name, digest, arguments, context)
    try:
        return await call()
    except RemoteFailure as exc:
        logger.warning(
            "Tool %s of MCP server %s failed in run %s: %s (%s)", name, server_id, context.run_id, exc.kind, exc.detail
        )
        if exc.kind == "ended":
            session_pool().drop(connection.key)
        if not exc.was_not_run:
            raise
    return await call()


async def _call(
    connection: Connection, name: str, digest: str, arguments: dict[str, Any], context: ToolContext
) -> ToolResult:
    session, listed = await _ready(connection, name)
    if listed is None:
        raise RemoteFailure("gone", name)
    if listed.digest != digest:
        raise RemoteFailure("changed", name)

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        await context.report_progress(progress, total, message or "")

    meta = meta_of(context, connection.context_keys)
    try:
        return await session.call(name, arguments, meta=meta, progress=tell)
    except RemoteFailure as exc:
        if exc.kind == "unreachable":
            await _note(connection, exc)
        raise


async def _ready(connection: Connection, name: str) -> tuple[RemoteSession, ToolDefinition | None]:
    """An open session, and the tool as it is listed now."""
    # A call that is given up meanwhile must not leave it unknown that the server hangs.
    task = asyncio.create_task(_prepare(connection, name), name="mcp-prepare")
    _at_work.add(task)
    task.add_done_callback(_finish)
    return await asyncio.shield(task)


def _finish(task: asyncio.Task[tuple[RemoteSession, ToolDefinition | None]]) -> None:
    _at_work.discard(task)
    if not task.cancelled():
        task.exception()  # asyncio would complain of one whose caller has gone


async def _prepare(connection: Connection, name: str) -> tuple[RemoteSession, ToolDefinition | None]:
    try:
        session = await session_pool().session(connection.key, connection.endpoint, listener_of(connection))
        return session, await session.listed(name, no_older_than=LISTING_SECONDS)
    except RemoteFailure as exc:
        if exc.kind == "timeout":
            session_pool().drop(connection.key)
        await _note(connection, exc)
        raise


async def _note(connection: Connection, failure: RemoteFailure) -> None:
    await in_database(
        note_failure,
        tenant_id=connection.tenant_id,
        server_id=connection.server_id,
        credential_id=connection.credential_id,
        failure=failure,
    )


def listener_of(connection: Connection, *, by_operator: bool = False) -> OnTools:
    """What keeps the listings that a session of this connection reads, as `store_listing` does."""

    async def on_tools(tools: tuple[ToolDefinition, ...]) -> None:
        await in_database(
            store_listing,
            tenant_id=connection.tenant_id,
            server_id=connection.server_id,
            tools=tools,
            credential_id=connection.credential_id,
            by_operator=by_operator,
        )

    return on_tools
