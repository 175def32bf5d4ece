"""Threads that tools leave behind are counted by tool, and reported when they become many."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from assistant.toolkit.context import ToolContext, use_context
from assistant.toolkit.left_threads import LeftThreads, left_threads


@pytest.fixture
def end() -> Iterator[threading.Event]:
    """Ends the threads of a test."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    monkeypatch.setattr(left_threads, "report", lambda tool, count: found.append((tool, count)))
    return found


def start(end: threading.Event) -> threading.Thread:
    thread = threading.Thread(target=end.wait, daemon=True)
    thread.start()
    return thread


def test_a_tool_that_leaves_threads_is_named_whenever_they_double(
    end: threading.Event, reports: list[tuple[str, int]]
) -> None:
    for _ in range(25):
        with use_context(ToolContext(), "leaky"):
            start(end)
    assert reports == [("leaky", 10), ("leaky", 20)]
    assert left_threads.counts()["leaky"] == 25


def test_workers_of_a_pool_that_is_not_closed_are_counted_too(end: threading.Event) -> None:
    with use_context(ToolContext(), "pooling"):
        pool = ThreadPoolExecutor(3)
        for _ in range(3):
            pool.submit(end.wait)
    assert left_threads.counts()["pooling"] == 3
    end.set()
    pool.shutdown()
    assert "pooling" not in left_threads.counts()


def test_threads_that_end_with_their_call_are_no_matter(reports: list[tuple[str, int]]) -> None:
    for _ in range(30):
        with use_context(ToolContext(), "tidy"):
            own = threading.Event()
            thread = start(own)
            own.set()
            thread.join()
    assert reports == []
    assert "tidy" not in left_threads.counts()


def test_nor_those_of_pools_that_all_share(end: threading.Event) -> None:
    with use_context(ToolContext(), "sharing"):
        threading.Thread(target=end.wait, name="asyncio_7", daemon=True).start()
    with use_context(ToolContext(), "sharing"):
        pass
    start(end)
    assert "sharing" not in left_threads.counts()


def test_a_tool_that_has_become_tidy_is_named_again_when_it_leaks_again() -> None:
    found: list[int] = []
    left = LeftThreads()
    left.report = lambda tool, count: found.append(count)
    for _ in range(2):
        end = threading.Event()
        threads = [start(end) for _ in range(12)]
        left.add("tool", threads)
        end.set()
        for thread in threads:
            thread.join()
        left.add("tool", [])
    assert found == [12, 12]
