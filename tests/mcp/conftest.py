"""Fixtures of MCP's tests: an outside server, as a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mcp.outside import Outside, outside


@pytest.fixture(scope="session")
def outside_process() -> Iterator[Outside]:
    with outside() as server:
        yield server


@pytest.fixture
def outsider(outside_process: Outside) -> Outside:
    """The outside server, well-behaved until the test says otherwise."""
    outside_process.calm()
    return outside_process
