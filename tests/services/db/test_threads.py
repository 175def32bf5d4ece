"""Connections to the database: those of database threads last, those of requests end with them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest
from django.db import connection

from assistant.services.db.threads import in_database
from tests.base import Cast
from tests.live import Server
from tests.websocket.test_websocket import in_db
from tests.ws import session_cookie

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 8


def open_files(server: Server) -> int:
    """How many files and sockets the server has open, connections to the database among them."""
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


async def test_threads_of_synchronous_views_leave_no_connection_behind(uvicorn_server: Server, cast: Cast) -> None:
    headers = {"Cookie": await in_db(session_cookie)(cast.root)}

    async def request_pages(times: int) -> None:
        async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers=headers) as client:
            for _ in range(times):
                answers = await asyncio.gather(*(client.get("/admin/assistant/tenant/") for _ in range(AT_ONCE)))
                assert {answer.status_code for answer in answers} == {200}

    await request_pages(1)
    before = open_files(uvicorn_server)
    await request_pages(4)
    for _ in range(50):  # until the server has noticed that its client has disconnected
        if (left := open_files(uvicorn_server)) <= before:
            break
        await asyncio.sleep(0.1)
    assert left <= before + AT_ONCE


async def test_database_threads_keep_their_connections() -> None:
    def raw_connection() -> object:
        connection.ensure_connection()
        return connection.connection

    # SQLite has one thread, PostgreSQL four: at least one call uses a thread again.
    seen = [await in_database(raw_connection) for _ in range(9)]
    assert len({id(one) for one in seen}) <= 4
