"""Subscribes to Redis channels, and subscribes again whenever the connection is lost."""

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

from assistant.services.outage_errors import REDIS_ERRORS

logger = logging.getLogger(__name__)

RECONNECT_SECONDS = 0.25
READ_TIMEOUT_SECONDS = 5.0


class _NoRetry(Retry):
    """Neither repeats a command nor reconnects, because the listener does that."""

    def __init__(self) -> None:
        super().__init__(NoBackoff(), 0)

    async def call_with_retry(self, do: Callable[[], Awaitable[Any]], *_: Any, **__: Any) -> Any:
        return await do()


class Subscriptions:
    """Listens to channels until it is closed, through any loss of the connection.

    redis-py's `PubSub` reconnects silently within the command that finds a dead connection, so that the caller does not
    notice missed messages. Here the listener makes every connection, each with a client of its own.

    Args:
        url: the address of Redis.
        on_message: called with each message of redis-py. One of type `subscribe` says that messages published before
            may have been missed.
    """

    def __init__(self, url: str, *, on_message: Callable[[Mapping[str, Any]], None]) -> None:
        self._url = url
        self._on_message = on_message
        self._channels: tuple[str, ...] = ()
        self._client: Redis | None = None
        self._pubsub: PubSub | None = None
        self._listener: asyncio.Task[None] | None = None

    async def start(self, *channels: str) -> None:
        """Listen to these channels, as soon as Redis can be reached."""
        self._channels = channels
        pubsub = None
        try:
            pubsub = await self._connect()
        except REDIS_ERRORS as exc:
            logger.warning("Redis cannot be reached; events of other processes arrive later: %r", exc)
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
                message = await pubsub.get_message(timeout=READ_TIMEOUT_SECONDS)
            except Exception as exc:
                if not isinstance(exc, REDIS_ERRORS):
                    logger.exception("Reading from Redis channels failed")
                pubsub = None
                await self._drop()
                await asyncio.sleep(RECONNECT_SECONDS)
                continue
            try:
                if message is not None:
                    self._on_message(message)
            except Exception:
                # Perhaps a message of another version of this program; the next one may be readable.
                logger.exception("A message from a Redis channel could not be handled")

    async def _connect(self) -> PubSub:
        # RESP2, because with RESP3 redis-py 8 recurses once for each message pushed during the handshake.
        self._client = Redis.from_url(self._url, socket_keepalive=True, protocol=2, retry=_NoRetry())
        self._pubsub = self._client.pubsub()
        try:
            await self._pubsub.subscribe(*self._channels)
        except BaseException:
            await self._drop()
            raise
        return self._pubsub

    async def _drop(self) -> None:
        pubsub = self._pubsub
        self._pubsub = None
        client = self._client
        self._client = None
        for one in (pubsub, client):
            with contextlib.suppress(*REDIS_ERRORS):
                if one is not None:
                    await one.aclose()
