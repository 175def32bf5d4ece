"""The commands, the configuration and the snippet of docs/mcp.md reach a live server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests import live
from tests.base import Cast
from tests.docs.snippets import ROOT, Block, blocks
from tests.python_template import forked_python

pytestmark = pytest.mark.django_db(transaction=True)

DOCUMENT = ROOT / "docs/mcp.md"
ADDRESS = "http://127.0.0.1:8000"


def serving_half() -> list[Block]:
    """The blocks of the section on connecting a client."""
    before, _, after = DOCUMENT.read_text().partition("\n## Connect")
    first = before.count("\n")
    last = first + after.partition("\n## ")[0].count("\n") + 1
    return [block for block in blocks(DOCUMENT) if first <= block.line <= last]


def run(script: str, **more: str) -> str:
    """What a shell prints, in the environment of a reader whose site is on the test's database."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_DATABASE_URL": live.test_database_url(), **more}
    environment["PATH"] = f"{forked_python().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


async def names_by(url: str, headers: dict[str, str]) -> list[str]:
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return [tool.name for tool in (await client.list_tools()).tools]


def test_a_reader_connects(uvicorn_server: live.Server, cast: Cast) -> None:
    # Programs from npm have a test of their own, tests/clients/test_mcp_clients.py.
    make_key, configuration, _, _, curl, snippet, *_ = (block.text for block in serving_half())
    key = run(f'{make_key}\nprintf %s "$API_KEY"').splitlines()[-1]
    assert key.startswith("ta_")
    listed = run(curl.replace(ADDRESS, uvicorn_server.url), API_KEY=key)
    assert '"calculate"' in listed
    printed = run(f"python - <<'END'\n{snippet.replace(ADDRESS, uvicorn_server.url)}\nEND", API_KEY=key)
    assert printed.strip() == "93"
    server = json.loads(configuration.replace("${API_KEY}", key).replace(ADDRESS, uvicorn_server.url))
    acme = server["mcpServers"]["acme"]
    assert "calculate" in asyncio.run(names_by(acme["url"], acme["headers"]))
