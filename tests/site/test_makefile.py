"""Each command that `make` lists can be made: what it needs is known where it is named."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.docs.snippets import ROOT

pytestmark = pytest.mark.once
TARGETS = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_target_needs_is_known(target: str) -> None:
    command = ["make", "--dry-run", target]
    made = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
