"""Runs the SDK's session manager in its own task, started by the first request."""

from __future__ import annotations

import asyncio

from django.conf import settings
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from assistant.mcp.server.protocol import build_server
from assistant.toolkit.per_loop import PerLoop

# Bytes. Bodies contain arguments, not files.
MAX_BODY = 1024 * 1024
MAX_SESSIONS = 2000


class _Runner:
    """The manager of one event loop. Its task group must be entered and left in the same task."""

    def __init__(self) -> None:
        self.ready: asyncio.Future[StreamableHTTPSessionManager] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._run(), name="mcp-sessions")

    async def _run(self) -> None:
        manager = StreamableHTTPSessionManager(
            build_server(with_sessions=settings.MCP_SESSIONS),
            stateless=not settings.MCP_SESSIONS,
            max_request_body_size=MAX_BODY,
            max_sessions=MAX_SESSIONS,
        )
        async with manager.run():
            self.ready.set_result(manager)
            await asyncio.Event().wait()


_runners = PerLoop(_Runner)


async def get_manager() -> StreamableHTTPSessionManager:
    """Return the manager of the running event loop."""
    if _runners.get().task.done():
        _runners.reset()
    return await asyncio.shield(_runners.get().ready)
