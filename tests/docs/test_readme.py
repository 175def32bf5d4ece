"""README.md, block by block in its order, in a fresh copy of the checkout: nothing is set but what it says."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, Block, blocks
from tests.fake_provider import FakeProvider
from tests.live import free_port

README = ROOT / "README.md"
SECONDS = 240


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that git knows or would add, and the environment of the tests in place of what `make` would install."""
    folder = tmp_path / "checkout"
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in names:
        if not name.startswith(("tests/", "benchmarks/")) and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for lock in folder.glob("requirements*.txt"):
        os.utime(lock, (0, 0))  # older than the stamp of what is installed
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


class Reader:
    """Runs blocks as somebody does who has one shell open: what it exports lasts."""

    def __init__(self, checkout: Path, provider: FakeProvider) -> None:
        self.checkout, self.port = checkout, free_port()
        self._state = checkout.parent / "state.sh"
        self._state.write_text("")
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        # The server of the tests stands in for the reader's provider, and no model is downloaded.
        self._environment = kept | {"OPENAI_BASE_URL": provider.url, "MODEL": "none", "PORT": str(self.port)}

    def _start(self, script: str, *, keeps: bool = True) -> subprocess.Popen[str]:
        script = re.sub(r"(127\.0\.0\.1:|--port )8000", rf"\g<1>{self.port}", script)
        after = f"\nexport -p > {self._state}" if keeps else ""
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", f". {self._state}\n{script}{after}"], cwd=self.checkout,
            env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def run(self, script: str, *, keeps: bool = True) -> str:
        process = self._start(script, keeps=keeps)
        told = process.communicate(timeout=SECONDS)[0]
        assert process.returncode == 0, told[-4000:]
        return told

    @contextmanager
    def serving(self, script: str) -> Iterator[subprocess.Popen[str]]:
        process = self._start(script, keeps=False)
        try:
            self.wait_for_answer(process)
            yield process
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=60)

    def wait_for_answer(self, process: subprocess.Popen[str]) -> None:
        deadline = time.monotonic() + SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        os.killpg(process.pid, signal.SIGTERM)
        raise AssertionError(process.communicate(timeout=60)[0][-4000:])


def follow(block: Block, reader: Reader) -> str:
    """Do what a block says; return what it printed."""
    if block.language == "python" and block.words:
        (reader.checkout / block.words[0]).write_text(block.text)
    elif block.language == "python":
        (reader.checkout / "script.py").write_text(block.text)
        return reader.run("python script.py")
    elif "serve" in block.words:
        with reader.serving(block.text) as process:
            if "make dev" in block.text:
                assert process.stdout
                (reader.checkout / "tools/seats.py").touch()
                assert any("seats.py" in line for line in process.stdout)
    elif block.text != "make test\n":  # .ci/run does that
        return reader.run(block.text, keeps="choice" not in block.words)
    return ""


@pytest.mark.once
@pytest.mark.timeout(600)
def test_every_block_works_in_a_fresh_directory(checkout: Path, fake_provider: FakeProvider) -> None:
    fake_provider.call("count_seats", {"team": "sales"})
    fake_provider.reply("25 seats.")
    fake_provider.call("calculate", {"expression": "17% of 1250"})
    fake_provider.reply("212.5")
    reader = Reader(checkout, fake_provider)
    told = [follow(block, reader) for block in blocks(README, "sh", "python")]
    assert "25 seats.\n" in told
    results = [message["content"] for one in fake_provider.requests for message in one.messages[-1:]]
    assert "25 seats are free for sales." in results and any("212.5" in result for result in results)
    assert any("212.5" in text and "ta_" in text for text in told)
