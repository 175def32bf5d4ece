"""Calls tools of external MCP servers, in a session of the calling member with their credentials."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.contrib.mcp_servers.services.circuit_breaker import record_failure
from assistant.contrib.mcp_servers.services.servers import Connection, connection_of
from assistant.contrib.mcp_servers.services.tool_listings import store_listing
from assistant.mcp_client import CallQuestions, Listing, OnTools, RemoteFailure, SessionPool, ToolDefinition
from assistant.mcp_client.shared_context import meta_of
from assistant.services.db.threads import in_database
from assistant.toolkit import ToolContext, ToolResult
from assistant.toolkit.per_loop import PerLoop

if TYPE_CHECKING:
    from assistant.mcp_client.session import RemoteSession

logger = logging.getLogger(__name__)

# Maximum age of the listing that a call is checked against.
LISTING_SECONDS = 60.0

_preparing: set[asyncio.Task[tuple[RemoteSession, ToolDefinition | None]]] = set()
_pools = PerLoop(SessionPool)


def session_pool() -> SessionPool:
    """Return the open sessions of the running event loop."""
    return _pools.get()


class Sessions:
    """Closes the sessions of a server process with its runs (`LoopService`)."""

    def start(self) -> None:
        """Do nothing: sessions are opened by calls."""

    async def stop(self) -> None:
        """Close all sessions."""
        await session_pool().close()


async def call_remote(
    server_id: int, name: str, digest: str, arguments: dict[str, Any], context: ToolContext
) -> ToolResult:
    """Call a server's tool for the member of `context`, if its definition still has the accepted `digest`.

    Raises:
        NeedsAnswer: the server asks the member something first.
        RemoteFailure: the call failed; `kind` says why.
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
    session, listed = await _ready_session(connection, name)
    if listed is None:
        raise RemoteFailure("gone", name)
    if listed.digest != digest:
        raise RemoteFailure("changed", name)

    async def report(progress: float, total: float | None, message: str | None) -> None:
        await context.report_progress(progress, total, message or "")

    meta = meta_of(context, connection.context_keys)
    asks, address = connection.asks_people, f"{connection.server_id} {connection.endpoint.address}"
    questions = CallQuestions(connection.name, context.answers, address) if asks else None
    try:
        result = await session.call(name, arguments, meta=meta, progress=report, questions=questions)
        return result if questions is None else questions.told(result)
    except RemoteFailure as exc:
        if exc.kind == "unreachable":
            await _record_failure(connection, exc)
        raise


async def _ready_session(connection: Connection, name: str) -> tuple[RemoteSession, ToolDefinition | None]:
    """Return an open session, and the tool as it is listed now or None."""
    # In a task of its own, so that a server that hangs is recorded even if the call is cancelled meanwhile.
    task = asyncio.create_task(_prepare(connection, name), name="mcp-prepare")
    _preparing.add(task)
    task.add_done_callback(_finish)
    return await asyncio.shield(task)


def _finish(task: asyncio.Task[tuple[RemoteSession, ToolDefinition | None]]) -> None:
    _preparing.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved, or asyncio logs it if the caller was cancelled


async def _prepare(connection: Connection, name: str) -> tuple[RemoteSession, ToolDefinition | None]:
    try:
        session = await session_pool().session(
            connection.key, connection.endpoint, listing_handler(connection), asks_people=connection.asks_people
        )
        return session, await session.listed(name, no_older_than=LISTING_SECONDS)
    except RemoteFailure as exc:
        if exc.kind == "timeout":
            session_pool().drop(connection.key)
        await _record_failure(connection, exc)
        raise


async def _record_failure(connection: Connection, failure: RemoteFailure) -> None:
    await in_database(
        record_failure,
        tenant_id=connection.tenant_id,
        server_id=connection.server_id,
        credential_id=connection.credential_id,
        failure=failure,
    )


def listing_handler(connection: Connection, *, by_operator: bool = False) -> OnTools:
    """Return a callback that stores the listings of a session of this connection."""

    async def on_tools(listing: Listing) -> None:
        await in_database(
            store_listing,
            tenant_id=connection.tenant_id,
            server_id=connection.server_id,
            listing=listing,
            credential_id=connection.credential_id,
            by_operator=by_operator,
        )

    return on_tools
