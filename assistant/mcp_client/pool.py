"""Open sessions, one for each user and server, kept for the next call and closed when nobody has called for long."""

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

if TYPE_CHECKING:
    from assistant.mcp_client.session import RemoteSession

IDLE_SECONDS = 300.0
# Open at once in one process and event loop; the longest idle goes first.
MAX_SESSIONS = 200


class SessionPool:
    """The sessions of one event loop.

    A key says whose session it is, and everything that it was opened with: whoever differs in any of it gets another.
    """

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS, max_sessions: int = MAX_SESSIONS) -> None:
        self._idle_seconds = idle_seconds
        self._kept = _Sessions(max_sessions)

    async def session(self, key: Hashable, endpoint: Endpoint, on_tools: OnTools | None = None) -> RemoteSession:
        """The open session of this key, or a new one. Raises `RemoteFailure`."""
        kept = self._kept.get(key)
        if kept is None or kept.task.done():
            kept = self._kept[key] = self._open(key, endpoint, on_tools)
        return await kept.use()

    def drop(self, key: Hashable) -> None:
        """Close this key's session, if there is one; nobody waits for a server that hangs."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            kept.task.cancel()

    async def close(self) -> None:
        """Close all sessions."""
        kept = list(self._kept.values())
        self._kept.clear()
        await asyncio.gather(*(one.close() for one in kept))

    def __len__(self) -> int:
        return len(self._kept)

    def _open(self, key: Hashable, endpoint: Endpoint, on_tools: OnTools | None) -> _Kept:
        kept = _Kept(endpoint, on_tools, self._idle_seconds)
        kept.task.add_done_callback(lambda _: self._forget(key, kept))
        return kept

    def _forget(self, key: Hashable, kept: _Kept) -> None:
        if self._kept.get(key) is kept:
            del self._kept[key]


class _Sessions(LRUCache[Hashable, "_Kept"]):
    """Closes the session that makes room for another."""

    def popitem(self) -> tuple[Hashable, _Kept]:
        key, kept = super().popitem()
        kept.task.cancel()
        return key, kept


class _Kept:
    """A session in the task that opened it: the SDK wants the same task to close it."""

    def __init__(self, endpoint: Endpoint, on_tools: OnTools | None, idle_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[RemoteSession] = loop.create_future()
        self._idle_seconds = idle_seconds
        self._used_at = loop.time()
        self.task = asyncio.create_task(self._keep(endpoint, on_tools), name="mcp-session")

    async def use(self) -> RemoteSession:
        self._used_at = asyncio.get_running_loop().time()
        # Others wait for the same opening: one that gives up must not end it.
        return await asyncio.shield(self._opened)

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _keep(self, endpoint: Endpoint, on_tools: OnTools | None) -> None:
        try:
            async with connect(endpoint, on_tools=on_tools) as session:
                self._opened.set_result(session)
                watching = asyncio.create_task(session.watch(), name="mcp-watch")
                try:
                    await self._until_idle(watching)
                finally:
                    watching.cancel()
                    await asyncio.gather(watching, return_exceptions=True)
        except RemoteFailure as exc:
            if not self._opened.done():
                self._opened.set_exception(exc)
                with suppress(RemoteFailure):
                    self._opened.exception()  # whoever waited may have gone
        finally:
            if not self._opened.done():
                self._opened.set_exception(RemoteFailure("ended"))
                self._opened.exception()

    async def _until_idle(self, watching: asyncio.Task[None]) -> None:
        loop = asyncio.get_running_loop()
        while not watching.done() and (left := self._used_at + self._idle_seconds - loop.time()) > 0:
            await asyncio.wait([watching], timeout=left)
