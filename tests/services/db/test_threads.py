"""Database threads: tenants take turns; their connections last, and those of requests end with them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from django.db import connection
from django.utils.translation import get_language, override

from assistant.services.db.threads import FairThreads, in_database, in_share, share
from assistant.services.files.reader_threads import in_reader
from assistant.services.tenancy.members import find_member
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.toolkit.calls.worker_threads import in_thread
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


async def test_the_language_is_the_callers(cast: Cast) -> None:
    member = await in_database(find_member, user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    with override("de"):
        asked = [in_database(get_language), in_reader(member, get_language), in_thread(get_language)]
        assert await asyncio.gather(*asked) == ["de", "de", "de"]
    assert await in_database(get_language) == "en"


async def test_database_threads_keep_their_connections() -> None:
    def raw_connection() -> object:
        connection.ensure_connection()
        return connection.connection

    # SQLite has one thread, PostgreSQL four: at least one call uses a thread again.
    seen = [await in_database(raw_connection) for _ in range(9)]
    assert len({id(one) for one in seen}) <= 4


def test_many_calls_of_one_tenant_delay_another_by_one_call() -> None:
    threads, free, done = FairThreads(1, name="test"), threading.Event(), list[str]()

    def call(name: str) -> Callable[[], None]:
        return lambda: done.append(name)

    held = threads.submit("flood", free.wait)
    floods = [threads.submit("flood", call("flood")) for _ in range(50)]
    neighbours = [threads.submit("neighbour", call("neighbour")) for _ in range(2)]
    free.set()
    for future in (held, *floods, *neighbours):
        future.result(timeout=20)
    assert done[:4] == ["flood", "neighbour", "flood", "neighbour"]
    assert threads.backlog() == 0


def test_a_call_that_was_given_up_is_not_made_and_a_failure_is_raised() -> None:
    threads, free, done = FairThreads(1, name="test"), threading.Event(), list[str]()
    held = threads.submit("a", free.wait)
    given_up, failing = threads.submit("a", lambda: done.append("made")), threads.submit("a", lambda: 1 // 0)
    assert given_up.cancel()
    free.set()
    with pytest.raises(ZeroDivisionError):
        failing.result(timeout=20)
    assert (held.result(), done) == (True, [])


def test_the_share_is_the_tenants_unless_it_is_named() -> None:
    with tenant_scope(7):
        assert share() == "7"
        with in_share("acme"):
            assert share() == "acme"
        assert share() == "7"
