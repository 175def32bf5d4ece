"""MCP clients from PyPI, in both eras of the protocol: the official SDK's and FastMCP's."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from assistant.models import ToolCall
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.clients.test_clients import HERE
from tests.clients.test_responses import PYTHON
from tests.docs.snippets import ROOT, blocks
from tests.factories import switch_tool
from tests.live import Server, SharedServer
from tests.mcp.conftest import SERVED
from tools.assistant_demo import load_demo

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]
PROTOCOLS = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@pytest.fixture(params=["", "true"], ids=["stateless", "with sessions"])
def served(request: pytest.FixtureRequest, shared_server: SharedServer, transactional_db: None) -> Iterator[Server]:
    """The site with the tools of `tests.mcp.served`; as by default, and with sessions for older clients."""
    with shared_server.lend("uvicorn", {**SERVED, "ASSISTANT_MCP_SESSIONS": request.param}) as lent:
        yield lent


def run(*command: str, key: str) -> str:
    """What a program printed."""
    done = subprocess.run(
        [PYTHON, *command], cwd=HERE, capture_output=True, text=True, timeout=200, check=False,
        env={**os.environ, "API_KEY": key},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("client", ["sdk", "fastmcp"])
def test_a_client_lists_calls_approves_and_learns_of_failures(
    client: str, mode: str, served: Server, cast: Cast
) -> None:
    key = create_api_key(tenant=cast.acme, user=cast.alice, name="desk", scopes=["tools"])[1]
    seen = json.loads(run("mcp_python.py", client, mode, f"{served.url}/mcp/", key=key).splitlines()[-1])
    assert seen["protocol"] == PROTOCOLS[mode]
    assert {"who_am_i", "count_to", "erase"} <= set(seen["tools"])
    assert (seen["me"], seen["count"]) == ("alice", [1, 2, 3])
    assert seen["progress"] == [[1, 3, "at 1"], [2, 3, "at 2"], [3, 3, "at 3"]]
    assert seen["approved"] == "Erased the disk."
    assert seen["declined"].startswith("error: Not run: the user declined this call")
    assert ["the disk" in seen["asked"][0], "the tape" in seen["asked"][1]] == [True, True] and len(seen["asked"]) == 2
    assert seen["parallel"] == ["Slept."] * 20
    assert "no_such_tool" in seen["errors"].pop("unknown")
    assert "hunter2" not in seen["errors"]["broken"]
    assert all(one.startswith("error: ") for one in seen["errors"].values()), seen["errors"]
    assert "needs a person's approval" in seen["mute"]
    assert seen["stranger"] == "refused"
    assert ToolCall.objects.filter(name="erase", status="ok", decided_by=cast.alice).count() == 1


def test_the_program_of_the_document_approves(uvicorn_server: Server, cast: Cast) -> None:
    load_demo(cast.acme, cast.globex)
    switch_tool(cast.acme, "get_customer", "ask")
    key = create_api_key(tenant=cast.acme, user=cast.alice, name="desk", scopes=["tools"])[1]
    (found,) = [one for one in blocks(ROOT / "docs/mcp.md", "python") if "fastmcp" in one.words]
    said = run("-c", found.text.replace("http://127.0.0.1:8000", uvicorn_server.url), key=key)
    assert said.splitlines()[0].startswith("get_customer asks before it runs")
    assert said.splitlines()[-1] == "Lena Hofbauer"
