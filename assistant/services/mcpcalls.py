"""Calls to outside servers: by the calling member's own session, with their credentials, and what they may tell."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from assistant.mcp.client import RemoteFailure, RemoteSession, SessionPool, ToolDefinition
from assistant.mcp.client.session import OnTools
from assistant.services.database import in_database
from assistant.services.mcplistings import record_failure, store_listing
from assistant.services.mcpservers import Connection, connection_of, meta_of
from tools import ToolContext, ToolResult

logger = logging.getLogger(__name__)

# A call goes by a listing that is no older.
LISTING_SECONDS = 60.0

_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, SessionPool] = WeakKeyDictionary()


def session_pool() -> SessionPool:
    """The open sessions of the event loop that is running."""
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        _pools[loop] = SessionPool()
    return _pools[loop]


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
            await session_pool().drop(connection.key)
        if not exc.was_not_run:
            raise
    return await call()


async def _call(
    connection: Connection, name: str, digest: str, arguments: dict[str, Any], context: ToolContext
) -> ToolResult:
    session = await _session(connection)
    listed = await session.listed(name, no_older_than=LISTING_SECONDS)
    if listed is None:
        raise RemoteFailure("gone", name)
    if listed.digest != digest:
        raise RemoteFailure("changed", name)

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        await context.report_progress(progress, total, message or "")

    return await session.call(name, arguments, meta=meta_of(context, connection.context_keys), progress=tell)


async def _session(connection: Connection) -> RemoteSession:
    try:
        return await session_pool().session(connection.key, connection.endpoint, listener_of(connection))
    except RemoteFailure as exc:
        if tells_of_server(exc, connection):
            await in_database(
                record_failure, tenant_id=connection.tenant_id, server_id=connection.server_id, failure=exc
            )
        raise


def tells_of_server(failure: RemoteFailure, connection: Connection | None) -> bool:
    """Whether a failure says something of the server to all members: one member's wrong or missing key does not.

    Args:
        connection: None if there was none to be had.
    """
    is_everybodys = connection is not None and connection.is_shared
    return is_everybodys or failure.kind in {"unreachable", "timeout"}


def listener_of(connection: Connection) -> OnTools:
    """What keeps the listings that a session of this connection reads."""

    async def on_tools(tools: tuple[ToolDefinition, ...]) -> None:
        await in_database(
            store_listing,
            tenant_id=connection.tenant_id,
            server_id=connection.server_id,
            tools=tools,
            is_whole=connection.is_shared,
        )

    return on_tools
