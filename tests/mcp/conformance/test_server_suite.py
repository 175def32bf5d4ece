"""The official conformance suite against the server: its own tenant passes all, an ordinary one all but fixtures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.services.knowledge.documents import add_document
from assistant.services.tenancy.members import create_api_key
from assistant.toolkit import Tool
from tests.base import Cast
from tests.factories import make_assistant, make_member, make_tenant, switch_tool
from tests.live import Server, serve
from tests.mcp.conformance.fixtures.shelf import TENANT
from tests.mcp.conformance.fixtures.tools import asking, plain

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(500)]

HERE = Path(__file__).parent
SUITE = HERE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
NODE = Path(sys.executable).parent / "node"
# How many scenarios each published revision of the protocol requires of a server.
REQUIRED = {"2026-07-28": 37, "2025-11-25": 30}


@pytest.fixture
def server(cast: Cast) -> Iterator[Server]:
    """The site with the suite's fixtures, and keys for its own tenant and for an ordinary one."""
    keys = {TENANT: _suites_tenant(), "acme": _ordinary_tenant(cast)}
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.mcp.conformance.settings",
        "CONFORMANCE_KEYS": json.dumps(keys),
    }
    with serve(env=environment, application="tests.mcp.conformance.asgi:application") as running:
        yield running


def _suites_tenant() -> str:
    tenant = make_tenant(TENANT)
    make_assistant(tenant, "support", prompt="You are the suite's assistant.")
    for module in (asking, plain):
        for tool in vars(module).values():
            if isinstance(tool, Tool):
                switch_tool(tenant, tool.name)
    return create_api_key(tenant=tenant, user=make_member(tenant, "tester"), name="suite", scopes=["tools"])[1]


def _ordinary_tenant(cast: Cast) -> str:
    add_document(tenant=cast.acme, title="Returns", text="Within 30 days.")
    return create_api_key(tenant=cast.acme, user=cast.alice, name="desktop", scopes=["tools"])[1]


def _required(revision: str) -> set[str]:
    """The scenarios that the suite's own list requires of a server."""
    listed = (SUITE.parents[1] / f"requirements/{revision}.yaml").read_text()
    section = listed.partition("\nserver:\n")[2].partition("\n\n")[0]
    return set(re.findall(r"^  - (\S+)$", section, re.MULTILINE))


def _run(server: Server, tenant: str, revision: str, folder: Path, *options: str) -> str:
    """What the suite prints. Raises `AssertionError` with it if the suite is not content."""
    url = f"{server.url}/as/{tenant}/mcp/"
    command = [str(NODE), str(SUITE), "server", "--url", url, "--requirements", revision, "-o", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{done.stdout[-12000:]}\n{done.stderr[-4000:]}\n{server.log[-4000:]}"
    return done.stdout


@pytest.mark.parametrize("revision", REQUIRED)
def test_every_required_scenario_passes_and_an_ordinary_tenant_lacks_only_the_fixtures(
    revision: str, server: Server, tmp_path: Path
) -> None:
    required = _required(revision)
    assert len(required) == REQUIRED[revision]
    printed = _run(server, TENANT, revision, tmp_path)
    passed = set(re.findall(r"^✓ (\S+): [1-9]\d* passed, 0 failed", printed, re.MULTILINE))
    assert required - passed == set()
    # The scenarios on this list call a tool, a prompt or a resource of the suite by its name.
    _run(server, "acme", revision, tmp_path, "--expected-failures", str(HERE / f"fixture-bound-{revision}.yml"))
