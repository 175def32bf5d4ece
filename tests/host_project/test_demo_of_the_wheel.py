"""The console script of an installed wheel: the demo is served without a checkout."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import httpx2
import pytest

from tests.host_project.bare import build, make_bare
from tests.live import free_port

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"))


def run(programs: Path, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    # Settings of another project in the person's shell are not the demo's.
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "DJANGO_SETTINGS_MODULE": "another.settings"}
    return subprocess.Popen(
        [str(programs / "tenant-assistant"), *arguments], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def wait_until_served(process: subprocess.Popen[str], url: str) -> None:
    """Wait until the address is answered. Nothing is compiled in a new environment, so this can take long."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx2.get(url, timeout=20).raise_for_status()
        except httpx2.HTTPError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError("The demo is not served.")


def test_the_demo_is_served_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    programs = make_bare(tmp_path / "bare", wheel, extras=["demo"])
    port = free_port()
    with run(programs, tmp_path, "demo", "--model", "none", "--port", str(port)) as demo:
        try:
            wait_until_served(demo, f"http://127.0.0.1:{port}/readyz")
            assert "<form" in httpx2.get(f"http://127.0.0.1:{port}/accounts/login/").text
        finally:
            demo.send_signal(signal.SIGINT)
            printed = demo.communicate(timeout=60)[0]
    assert "alice" in printed and "demo-alice-pass" in printed
    assert (tmp_path / ".local/share/tenant-assistant/demo/db.sqlite3").is_file()


def test_the_core_alone_says_what_the_demo_needs(wheel: Path, tmp_path: Path) -> None:
    programs = make_bare(tmp_path / "bare", wheel)
    with run(programs, tmp_path, "demo") as demo:
        printed = demo.communicate(timeout=60)[0]
    assert demo.returncode == 1
    assert "pip install 'tenant-assistant[demo]'" in printed
