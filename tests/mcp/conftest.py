"""Fixtures of the MCP tests: an external server and our own, as separate processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.mcp_client import session
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.live import KINDS, Server, SharedServer
from tests.mcp.outside import Outside, outside


@pytest.fixture(scope="session")
def outside_process() -> Iterator[Outside]:
    with outside() as server:
        yield server


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting may take long, because the machine may be busy."""
    monkeypatch.setattr(session, "OPEN_SECONDS", 90.0)


@pytest.fixture
def outsider(outside_process: Outside) -> Outside:
    """The external server, which behaves well unless the test changes it."""
    outside_process.calm()
    return outside_process


SERVED = {"DJANGO_SETTINGS_MODULE": "tests.mcp.settings_served", "ASSISTANT_MCP_SESSIONS": ""}


@pytest.fixture(params=KINDS)
def served(request: pytest.FixtureRequest, shared_server: SharedServer, transactional_db: None) -> Iterator[Server]:
    """The site under each server in turn, with the tools of `tests.mcp.served`."""
    with shared_server.lend(request.param, SERVED) as lent:
        yield lent


@pytest.fixture
def uvicorn_served(shared_server: SharedServer, transactional_db: None) -> Iterator[Server]:
    with shared_server.lend("uvicorn", SERVED) as lent:
        yield lent


@pytest.fixture
def with_sessions(shared_server: SharedServer, transactional_db: None) -> Iterator[Server]:
    """A server that keeps sessions for clients older than 2026-07-28."""
    with shared_server.lend("uvicorn", {**SERVED, "ASSISTANT_MCP_SESSIONS": "true"}) as lent:
        yield lent


@pytest.fixture
def alice_key(cast: Cast) -> str:
    return create_api_key(tenant=cast.acme, user=cast.alice, name="mcp")[1]


@pytest.fixture
def mallory_key(cast: Cast) -> str:
    return create_api_key(tenant=cast.globex, user=cast.mallory, name="mcp")[1]
