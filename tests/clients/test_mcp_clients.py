"""MCP clients from npm, started as docs/mcp.md says: each key lists its own tenant's tools and sees its own data."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.docs.snippets import ROOT, blocks
from tests.factories import switch_tool
from tests.live import Server
from tools.assistant_demo import load_demo

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

HERE = Path(__file__).parent
ADDRESS = "http://127.0.0.1:8000"
PACKAGE = re.compile(r"(mcp-remote|@modelcontextprotocol/inspector)@([\d.]+)")


@pytest.fixture
def keys(cast: Cast) -> dict[str, str]:
    """A key of each tenant, by who customer 42 is to its holder."""
    load_demo(cast.acme, cast.globex)
    for tenant in (cast.acme, cast.globex):
        switch_tool(tenant, "get_customer")
    return {
        "Lena Hofbauer": create_api_key(tenant=cast.acme, user=cast.alice, name="desk", scopes=["tools"])[1],
        "Raymond Okafor": create_api_key(tenant=cast.globex, user=cast.mallory, name="desk", scopes=["tools"])[1],
    }


def told(kind: str, holding: str) -> str:
    """The document's block with these words, its packages as they are installed here."""
    (text,) = (block.text for block in blocks(ROOT / "docs/mcp.md", kind) if holding in block.text)
    installed = json.loads((HERE / "package.json").read_text())["dependencies"]
    assert all(installed[name] == version for name, version in PACKAGE.findall(text))
    return PACKAGE.sub(lambda found: found[1].rpartition("/")[2].replace("inspector", "mcp-inspector"), text)


def test_the_inspector_sees_what_a_key_opens(uvicorn_server: Server, keys: dict[str, str]) -> None:
    script = told("sh", "inspector").replace(ADDRESS, uvicorn_server.url)
    for name, key in keys.items():
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=HERE, env={**os.environ, "API_KEY": key}, capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert '"name": "get_customer"' in done.stdout
        assert [one for one in keys if one in done.stdout] == [name]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_desktop_client_goes_through_mcp_remote(
    mode: str, uvicorn_server: Server, keys: dict[str, str], tmp_path: Path
) -> None:
    text = told("json", "mcp-remote").replace(ADDRESS, uvicorn_server.url)
    for name, key in keys.items():
        server = json.loads(text.replace("${API_KEY}", key))["mcpServers"]["acme"]
        assert name in json.dumps(asyncio.run(ask_for_customer(server, mode, tmp_path)))


async def ask_for_customer(server: Any, mode: str, home: Path) -> Any:
    """What a client gets that starts the program as its configuration says."""
    environment = {**os.environ, **server["env"], "HOME": str(home)}
    program = StdioServerParameters(command=server["command"], args=server["args"], env=environment, cwd=HERE)
    async with Client(stdio_client(program), mode=mode) as client:
        assert "get_customer" in {tool.name for tool in (await client.list_tools()).tools}
        return (await client.call_tool("get_customer", {"customer_id": 42})).structured_content


@pytest.mark.parametrize("package", ["sdk", "client"])
def test_the_typescript_sdks_approve(package: str, uvicorn_server: Server, keys: dict[str, str], cast: Cast) -> None:
    """Both speak a protocol before 2026-07-28 by default."""
    switch_tool(cast.acme, "get_customer", "ask")
    script = program(package).replace(ADDRESS, uvicorn_server.url)
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", script],
        cwd=HERE, env={**os.environ, "API_KEY": keys["Lena Hofbauer"]}, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("get_customer asks before it runs") == 1
    assert done.stdout.strip() == "Lena Hofbauer"


def program(package: str) -> str:
    """The document's program; for the older package with its imports, and its name of the request."""
    found = {word: one.text for one in blocks(ROOT / "docs/mcp.md", "js") for word in one.words}
    text = found["typescript-sdk"]
    if package == "client":
        return text
    _, _, rest = text.partition("\n")
    return found["typescript-sdk-1"] + rest.replace('"elicitation/create"', "ElicitRequestSchema")
