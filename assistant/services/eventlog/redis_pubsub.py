"""The channels of Redis that this process listens to, over one connection at a time."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from assistant.services.errors import REDIS_ERRORS

logger = logging.getLogger(__name__)

RETRY_SECONDS = 0.25
READ_SECONDS = 5.0


class _Once(Retry):
    """No second try and no new connection: a broken one is the listener's business."""

    def __init__(self) -> None:
        super().__init__(NoBackoff(), 0)

    async def call_with_retry(self, do: Callable[[], Awaitable[Any]], *_: Any, **__: Any) -> Any:
        return await do()


class Subscriptions:
    """Listens until it is closed, whatever becomes of Redis.

    redis-py's `PubSub` connects anew within whatever command meets a dead connection, and does not tell. Here every
    connection has a client of its own and is made by the listener.

    Args:
        url: of Redis.
        on_message: called with each message as redis-py gives them; of type `subscribe` whenever it is heard again from
            a channel on, where what was published before is not told.
    """

    def __init__(self, url: str, *, on_message: Callable[[Mapping[str, Any]], None]) -> None:
        self._url = url
        self._on_message = on_message
        self._channels: tuple[str, ...] = ()
        self._client: Redis | None = None
        self._pubsub: PubSub | None = None
        self._listener: asyncio.Task[None] | None = None

    async def start(self, *channels: str) -> None:
        """Listen to these channels: from now on, or from when Redis can be reached."""
        self._channels = channels
        pubsub = None
        try:
            pubsub = await self._connect()
        except REDIS_ERRORS as exc:
            logger.warning("Redis cannot be reached yet; what other processes write is heard later: %r", exc)
        self._listener = asyncio.create_task(
            self._listen(pubsub), name="redis-subscriptions", context=contextvars.Context()
        )

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
        await self._drop()

    async def _listen(self, pubsub: PubSub | None) -> None:
        while True:
            try:
                if pubsub is None:
                    pubsub = await self._connect()
                message = await pubsub.get_message(timeout=READ_SECONDS)
            except Exception as exc:
                if not isinstance(exc, REDIS_ERRORS):
                    logger.exception("The channels of Redis could not be listened to")
                pubsub = None
                await self._drop()
                await asyncio.sleep(RETRY_SECONDS)
                continue
            try:
                if message is not None:
                    self._on_message(message)
            except Exception:
                # What cannot be read was not written by this version; the next message may be.
                logger.exception("A message from Redis was not understood")

    async def _connect(self) -> PubSub:
        # RESP2: with 3, redis-py 8 reads what is pushed during a handshake by calling itself for each message.
        self._client = Redis.from_url(self._url, socket_keepalive=True, protocol=2, retry=_Once())
        self._pubsub = self._client.pubsub()
        try:
            await self._pubsub.subscribe(*self._channels)
        except BaseException:
            await self._drop()
            raise
        return self._pubsub

    async def _drop(self) -> None:
        pubsub, self._pubsub = self._pubsub, None
        client, self._client = self._client, None
        for one in (pubsub, client):
            with contextlib.suppress(*REDIS_ERRORS):
                if one is not None:
                    await one.aclose()
