"""Whether the database can be written: tried with a real write, now and then, and the reason is right."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.services.db.write_probe import write_probe
from assistant.services.errors import StorageProblem
from tests.storage import blocked_storage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def untried() -> Iterator[None]:
    write_probe.reset()
    yield
    write_probe.reset()


def writes(client: Client) -> tuple[int, str]:
    """The status of `/readyz`, and what it says of writes."""
    answer = client.get("/readyz")
    return answer.status_code, answer.json()["checks"]["writes"]


def drop_free_pages() -> None:
    """Take what is free off the end of SQLite's file, so that it has to grow."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")


@pytest.mark.parametrize("problem", ["disk full", "read-only"])
def test_a_process_that_cannot_store_is_not_ready_and_says_why(client: Client, problem: StorageProblem) -> None:
    drop_free_pages()
    with blocked_storage(problem):
        assert writes(client) == (503, problem)
    write_probe.reset()
    assert writes(client) == (200, "ok")
    assert not Session.objects.exists()


def test_the_database_is_written_only_now_and_then(client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert [writes(client) for _ in range(5)] == [(200, "ok")] * 5
    assert sum("INSERT" in query["sql"] for query in queries) == 1


def test_an_outcome_is_kept_until_the_next_try(client: Client) -> None:
    drop_free_pages()
    with blocked_storage("read-only"):
        assert writes(client) == (503, "read-only")
    assert writes(client) == (503, "read-only")


def test_the_reason_is_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with blocked_storage("read-only"), caplog.at_level(logging.ERROR):
        writes(client)
    assert "The database cannot be written" in caplog.text


@pytest.mark.services  # a setting of PostgreSQL
def test_a_server_that_takes_only_reads_is_read_only(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        try:
            assert writes(client) == (503, "read-only")
        finally:
            cursor.execute("SET default_transaction_read_only = off")
