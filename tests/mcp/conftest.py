"""Fixtures of the MCP tests: an external server and our own, as separate processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from assistant.mcp_client import session
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.live import Server, serve
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


@pytest.fixture(scope="session")
def asking_process() -> Iterator[Outside]:
    with outside(app="tests.mcp.asking_app:app") as server:
        yield server


@pytest.fixture(params=["newest", "with sessions"])
def asking(request: pytest.FixtureRequest, asking_process: Outside) -> Outside:
    """The external server that asks people, in each protocol in turn."""
    asking_process.be(is_older=request.param != "newest")
    return asking_process


@pytest.fixture(scope="session")
def serving(django_db_setup: None) -> Iterator[dict[str, Server]]:
    """Servers with the tools of `tests.mcp.served`, each started by the first test that asks for its kind."""
    with ExitStack() as stack:

        class Farm(dict[str, Server]):
            def __missing__(self, kind: str) -> Server:
                server, _, sessions = kind.partition("+")
                environment = {"DJANGO_SETTINGS_MODULE": "tests.mcp.settings_served"}
                environment |= {"MCP_SESSIONS": "true" if sessions else ""}
                self[kind] = stack.enter_context(serve(server, env=environment))
                return self[kind]

        yield Farm()


@pytest.fixture(params=["uvicorn", "daphne"])
def served(request: pytest.FixtureRequest, serving: dict[str, Server], transactional_db: None) -> Server:
    """The site under each server in turn, with these tools."""
    return serving[request.param]


@pytest.fixture
def uvicorn_served(serving: dict[str, Server], transactional_db: None) -> Server:
    return serving["uvicorn"]


@pytest.fixture
def with_sessions(serving: dict[str, Server], transactional_db: None) -> Server:
    """A server that keeps sessions for clients older than 2026-07-28."""
    return serving["uvicorn+sessions"]


@pytest.fixture
def alice_key(cast: Cast) -> str:
    return create_api_key(tenant=cast.acme, user=cast.alice, name="mcp")[1]


@pytest.fixture
def mallory_key(cast: Cast) -> str:
    return create_api_key(tenant=cast.globex, user=cast.mallory, name="mcp")[1]
