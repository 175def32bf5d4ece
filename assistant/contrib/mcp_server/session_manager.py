"""Runs the SDK's session managers in tasks of their own, started by the first request."""

from __future__ import annotations

import asyncio
from functools import partial

from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from assistant.contrib.mcp_server.protocol import build_server
from assistant.contrib.mcp_server.stored_events import RETRY_MILLISECONDS, SessionEvents
from assistant.toolkit.per_loop import PerLoop

# Bytes. Bodies contain arguments, not files.
MAX_BODY = 1024 * 1024
MAX_SESSIONS = 2000


class _SessionManager(StreamableHTTPSessionManager):
    """A manager that gives each session a store of its own for its events."""

    @property
    def event_store(self) -> EventStore | None:
        return None if self.stateless else SessionEvents()

    @event_store.setter
    def event_store(self, _store: EventStore | None) -> None:
        """Ignore that of the constructor, which all sessions would share."""


class _Runner:
    """A manager of one event loop. Its task group must be entered and left in the same task."""

    def __init__(self, *, with_sessions: bool) -> None:
        self.ready: asyncio.Future[StreamableHTTPSessionManager] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._run(with_sessions), name="mcp-sessions")

    async def _run(self, with_sessions: bool) -> None:
        manager = _SessionManager(
            build_server(with_sessions=with_sessions),
            stateless=not with_sessions,
            max_request_body_size=MAX_BODY,
            max_sessions=MAX_SESSIONS,
            retry_interval=RETRY_MILLISECONDS,
        )
        async with manager.run():
            self.ready.set_result(manager)
            await asyncio.Event().wait()


_runners = {
    True: PerLoop(partial(_Runner, with_sessions=True)),
    False: PerLoop(partial(_Runner, with_sessions=False)),
}


async def get_manager(*, with_sessions: bool) -> StreamableHTTPSessionManager:
    """Return the running event loop's manager that keeps sessions of older clients, or the one that does not."""
    runners = _runners[with_sessions]
    if runners.get().task.done():
        runners.reset()
    return await asyncio.shield(runners.get().ready)
