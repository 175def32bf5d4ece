"""A pool of open sessions, one for each user and server, which are closed after `IDLE_SECONDS` without a call."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from contextlib import suppress
from typing import TYPE_CHECKING

from cachetools import LRUCache

from assistant.mcp_client.connecting import connect
from assistant.mcp_client.definitions import OnTools
from assistant.mcp_client.endpoint import Endpoint
from assistant.mcp_client.errors import RemoteFailure
from assistant.mcp_client.handlers import NO_HANDLERS, Handlers

if TYPE_CHECKING:
    from assistant.mcp_client.session import RemoteSession

IDLE_SECONDS = 300.0
# Sessions that are open at once in one event loop; beyond it, the least recently used is closed.
MAX_SESSIONS = 200


class SessionPool:
    """The sessions of one event loop.

    A key must contain the user and everything else that the session is opened with, so that no two users or
    configurations share one.
    """

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS, max_sessions: int = MAX_SESSIONS) -> None:
        self._idle_seconds = idle_seconds
        self._sessions = _Sessions(max_sessions)

    async def session(
        self,
        key: Hashable,
        endpoint: Endpoint,
        on_tools: OnTools | None = None,
        *,
        asks_people: bool = False,
        handlers: Handlers = NO_HANDLERS,
    ) -> RemoteSession:
        """Return the open session of this key, or a new one. Raises `RemoteFailure`.

        Args:
            asks_people: as for `connect`; of a new session.
            handlers: the same.
        """
        pooled = self._sessions.get(key)
        if pooled is None or pooled.task.done():
            pooled = self._sessions[key] = self._open(
                key, _PooledSession(endpoint, on_tools, self._idle_seconds, asks_people, handlers)
            )
        return await pooled.use()

    def drop(self, key: Hashable) -> None:
        """Close this key's session, if there is one, without waiting for it."""
        pooled = self._sessions.pop(key, None)
        if pooled is not None:
            pooled.task.cancel()

    async def close(self) -> None:
        """Close all sessions."""
        pooled = list(self._sessions.values())
        self._sessions.clear()
        await asyncio.gather(*(one.close() for one in pooled))

    def __len__(self) -> int:
        return len(self._sessions)

    def _open(self, key: Hashable, pooled: _PooledSession) -> _PooledSession:
        pooled.task.add_done_callback(lambda _: self._forget(key, pooled))
        return pooled

    def _forget(self, key: Hashable, pooled: _PooledSession) -> None:
        if self._sessions.get(key) is pooled:
            del self._sessions[key]


class _Sessions(LRUCache[Hashable, "_PooledSession"]):
    """A cache of sessions that closes those that it drops."""

    def popitem(self) -> tuple[Hashable, _PooledSession]:
        key, pooled = super().popitem()
        pooled.task.cancel()
        return key, pooled


class _PooledSession:
    """A session within its own task: the SDK requires the same task to open and to close it."""

    def __init__(
        self,
        endpoint: Endpoint,
        on_tools: OnTools | None,
        idle_seconds: float,
        asks_people: bool,
        handlers: Handlers,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[RemoteSession] = loop.create_future()
        self._idle_seconds = idle_seconds
        self._used_at = loop.time()
        self.task = asyncio.create_task(self._run(endpoint, on_tools, asks_people, handlers), name="mcp-session")

    async def use(self) -> RemoteSession:
        self._used_at = asyncio.get_running_loop().time()
        # Several callers may wait for the session to open; if one is cancelled, the others still get it.
        return await asyncio.shield(self._opened)

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _run(self, endpoint: Endpoint, on_tools: OnTools | None, asks_people: bool, handlers: Handlers) -> None:
        try:
            opening = connect(endpoint, on_tools=on_tools, asks_people=asks_people, handlers=handlers)
            async with opening as session:
                self._opened.set_result(session)
                watch = asyncio.create_task(session.watch(), name="mcp-watch")
                try:
                    await self._until_idle(watch)
                finally:
                    watch.cancel()
                    await asyncio.gather(watch, return_exceptions=True)
        except RemoteFailure as exc:
            if not self._opened.done():
                self._opened.set_exception(exc)
                with suppress(RemoteFailure):
                    self._opened.exception()  # retrieved, in case nobody waits for it any more
        finally:
            if not self._opened.done():
                self._opened.set_exception(RemoteFailure("ended"))
                self._opened.exception()

    async def _until_idle(self, watch: asyncio.Task[None]) -> None:
        loop = asyncio.get_running_loop()
        while not watch.done() and (left := self._used_at + self._idle_seconds - loop.time()) > 0:
            await asyncio.wait([watch], timeout=left)
