"""Threads that async tools borrow from the event loop keep no database connection after their jobs."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from django.db import connection, connections

from assistant.models import Tenant
from assistant.toolkit import ToolContext
from assistant.toolkit.context import use_context

pytestmark = pytest.mark.django_db(transaction=True)
THREADS = 6


def read(everybody: threading.Barrier) -> int:
    """Query the database while all others do, each in a thread of its own."""
    everybody.wait(20)
    return Tenant.objects.count()


def opened(everybody: threading.Barrier) -> bool:
    everybody.wait(20)
    return any(one.connection is not None for one in connections.all(initialized_only=True))


async def in_all_threads(function: Any) -> list[Any]:
    everybody = threading.Barrier(THREADS)
    return list(await asyncio.gather(*(asyncio.to_thread(function, everybody) for _ in range(THREADS))))


async def left_open(within: bool) -> int:
    """Return how many of the loop's threads have a connection after six of them have queried the database."""
    if within:
        with use_context(ToolContext(), "counting"):
            await in_all_threads(read)
    else:
        await in_all_threads(read)
    return sum(await in_all_threads(opened))


@pytest.mark.skipif(connection.vendor == "sqlite" and connection.is_in_memory_db(), reason="a file is needed")
async def test_a_tools_to_thread_leaves_no_connection() -> None:
    assert await left_open(within=True) == 0


async def test_a_job_that_fails_leaves_none_either() -> None:
    def fail(everybody: threading.Barrier) -> None:
        read(everybody)
        raise ValueError

    with use_context(ToolContext(), "failing"):
        everybody = threading.Barrier(THREADS)
        jobs = (asyncio.to_thread(fail, everybody) for _ in range(THREADS))
        failed = await asyncio.gather(*jobs, return_exceptions=True)
    assert all(isinstance(one, ValueError) for one in failed)
    assert sum(await in_all_threads(opened)) == 0
