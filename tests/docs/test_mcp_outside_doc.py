"""The section on external servers in docs/mcp.md: its server, its script and its command, one after the other."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import live
from tests.base import Cast
from tests.docs.snippets import ROOT, Block, blocks
from tests.python_template import forked_python

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

DOCUMENT = ROOT / "docs/mcp.md"
PORT = "8765"


def consuming_half() -> list[Block]:
    first = DOCUMENT.read_text().partition("\n## Let your assistant use")[0].count("\n")
    return [block for block in blocks(DOCUMENT) if block.line > first]


@contextmanager
def serving(script: str, folder: Path, port: int) -> Iterator[None]:
    """The server of the document, once it listens."""
    (folder / "stock.py").write_text(script)
    process = subprocess.Popen([sys.executable, "stock.py"], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + live.START_SECONDS
        while process.poll() is None and time.monotonic() < deadline and not _listens(port):
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait(10)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def run(command: str, folder: Path) -> str:
    """What a line of the document prints, with the files that it names in `folder`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"DJANGO_SETTINGS_MODULE": "tests.settings_debug", "TEST_DATABASE_URL": live.test_database_url()}
    environment |= {"PATH": f"{forked_python().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    line = command.replace("manage.py", str(ROOT / "manage.py"))
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_a_reader_lets_a_tool_of_an_outside_server_in(cast: Cast, tmp_path: Path) -> None:
    script, start, setup, allow, tools = consuming_half()
    # The test's settings set DEBUG themselves.
    assert allow.text.startswith("DEBUG=true ")
    (tmp_path / "allow.py").write_text(setup.text.replace(PORT, str(port := live.free_port())))
    assert start.text.split() == ["python", "stock.py"]
    with serving(script.text.replace(PORT, str(port)), tmp_path, port):
        for _ in range(2):
            assert "It lists 1 tool," in run(allow.text, tmp_path)
        listed = run(tools.text, tmp_path)
    assert "on   stock__in_stock" in listed
