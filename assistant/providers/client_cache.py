"""Keeps the clients of the providers' packages, which take 30 ms or more to build."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

from assistant.toolkit.per_loop import PerLoop

# Clients in one event loop. The client of a replaced key stays until it is the least recently used.
MAX_CLIENTS = 1_000


class Closable(Protocol):
    """A client of a provider's package."""

    def close(self) -> Awaitable[None]: ...


C = TypeVar("C", bound=Closable)
_Key = tuple[Hashable, ...]


class ClientCache(Generic[C]):
    """One client for each address, key and guard in each event loop.

    Above `MAX_CLIENTS` the one that was not used for the longest time is closed. All are closed when the event loop
    closes its asynchronous generators, as `asyncio.run` does.

    Args:
        make: makes a client from the arguments of `get`.
    """

    def __init__(self, make: Callable[..., Awaitable[C]]) -> None:
        self._make = make
        self._clients: PerLoop[OrderedDict[_Key, tuple[C, AsyncGenerator[C]]]] = PerLoop(OrderedDict)

    async def get(self, *key: Hashable) -> C:
        """Return the client for these arguments."""
        clients = self._clients.get()
        if key not in clients:
            generator = self._open(key)
            made = await anext(generator)
            if key in clients:  # another task has made one meanwhile
                await generator.aclose()
            else:
                clients[key] = made, generator
        client, _ = clients[key]
        clients.move_to_end(key)
        while len(clients) > MAX_CLIENTS:
            _, (_, oldest) = clients.popitem(last=False)
            await oldest.aclose()
        return client

    async def _open(self, key: _Key) -> AsyncGenerator[C]:
        """Yield a client, and close it with the generator."""
        client = await self._make(*key)
        try:
            yield client
        finally:
            clients = self._clients.get()
            if key in clients and clients[key][0] is client:
                del clients[key]
            await client.close()
