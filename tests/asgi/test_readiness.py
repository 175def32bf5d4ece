"""Whether the process is ready is said within a bounded time, whatever the database does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIHandler
from django.db import connection, connections

from assistant import health
from assistant.asgi.probes import with_probes
from assistant.services.db import single_flight


class SilentDatabase:
    """A database that takes connections and never says anything."""

    def __init__(self) -> None:
        self.connected = 0
        self._writers: list[asyncio.StreamWriter] = []

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected += 1
        self._writers.append(writer)

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.close()


@asynccontextmanager
async def silent_database(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SilentDatabase]:
    """Connections that are opened meanwhile are to a database that does not answer."""
    silent = SilentDatabase()
    server = await asyncio.start_server(silent.take, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    there = {"ENGINE": "django.db.backends.postgresql", "NAME": "x", "USER": "x", "PASSWORD": "x", "OPTIONS": {}}
    config = {**connection.settings_dict, **there, "HOST": host, "PORT": port}
    with monkeypatch.context() as patched:
        patched.setitem(connections.settings, "default", config)
        yield silent
    silent.hang_up()
    server.close()


async def ask(path: str = "/readyz") -> tuple[int, Any]:
    sent: list[Any] = []
    requests = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        return next(requests, None) or await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "method": "GET", "headers": [], "query_string": b"", "http_version": "1.1"}
    async with asyncio.timeout(60):
        await with_probes(ASGIHandler())(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


@pytest.mark.django_db(transaction=True)
async def test_a_database_that_does_not_answer_connects_is_said_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "READY_SECONDS", 0.3)
    async with silent_database(monkeypatch) as silent:
        answers = await asyncio.gather(*(ask() for _ in range(8)))
        assert answers == [(503, {"status": "not ready", "checks": {"database": "no answer"}})] * 8
        # Later ones wait for the same check.
        assert (await ask())[0] == 503 and await ask("/healthz") == (200, {"status": "alive"})
        assert silent.connected == 1
    monkeypatch.setattr(health, "READY_SECONDS", 30.0)
    async with asyncio.timeout(60):
        while (await ask())[0] == 503:
            await asyncio.sleep(0.05)


@pytest.mark.django_db(transaction=True)
async def test_the_check_itself_gives_up_a_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "READY_SECONDS", 40.0)
    monkeypatch.setattr(single_flight, "CONNECT_SECONDS", 2)  # libpq's least
    async with silent_database(monkeypatch):
        status, body = await ask()
    assert (status, body["checks"]["database"]) == (503, "failed")
