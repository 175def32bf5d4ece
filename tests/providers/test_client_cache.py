"""Clients of the providers' packages: one for each address and key, not more than a bound, closed with their loop."""

from __future__ import annotations

import asyncio

import pytest

from assistant.providers import http_clients
from assistant.providers.http_clients import ClientCache


class Client:
    """A client that notes when it is closed."""

    def __init__(self, name: str) -> None:
        self.name, self.closed = name, 0

    async def close(self) -> None:
        self.closed += 1


class Clients:
    """A cache whose clients are kept for the test."""

    def __init__(self) -> None:
        self.made: list[Client] = []
        self.cache = ClientCache(self._make)

    async def _make(self, name: str) -> Client:
        await asyncio.sleep(0)
        self.made.append(Client(name))
        return self.made[-1]


async def test_requests_at_once_get_the_same_client() -> None:
    clients = Clients()
    found = await asyncio.gather(*(clients.cache.get("a") for _ in range(3)))
    assert {*found} == {await clients.cache.get("a")} and await clients.cache.get("b") not in found
    assert sorted(one.closed for one in clients.made) == [0, 0, 1, 1], "those that were made too many"


async def test_the_client_that_was_not_used_for_the_longest_time_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_clients, "MAX_CLIENTS", 2)
    clients = Clients()
    for name in ("a", "b", "a", "c"):
        await clients.cache.get(name)
    assert [(one.name, one.closed) for one in clients.made] == [("a", 0), ("b", 1), ("c", 0)]
    assert await clients.cache.get("b") is clients.made[-1]


def test_clients_are_closed_with_their_event_loop() -> None:
    clients = Clients()
    for _ in range(2):
        asyncio.run(clients.cache.get("a"))
    assert [one.closed for one in clients.made] == [1, 1]
