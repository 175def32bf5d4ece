"""The server with resources and prompts, over HTTP in both protocols and as a program."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from assistant.client import McpServer
from tests.mcp.outside import Outside, outside


@pytest.fixture(scope="session")
def publishing_process() -> Iterator[Outside]:
    with outside(app="tests.mcp.publishing.publishing_app:app") as server:
        yield server


@pytest.fixture(params=["newest", "with sessions", "program"])
def publishing(request: pytest.FixtureRequest, publishing_process: Outside) -> McpServer:
    """The server in each protocol, and over standard input and output."""
    if request.param == "program":
        return McpServer(command=(sys.executable, "-m", "tests.mcp.publishing.publishing_app"))
    publishing_process.be(is_older=request.param != "newest")
    return McpServer(url=publishing_process.url)
