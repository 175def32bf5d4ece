"""The rows of docs/tools.md, "Coming from Spring AI", satisfy mypy as a reader's own script does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, blocks


@pytest.mark.timeout(900)  # without the cache that `make lint` leaves, mypy reads the whole package
def test_mypy_checks_the_rows(tmp_path: Path) -> None:
    (rows,) = [block.text for block in blocks(ROOT / "docs/tools.md", "python") if "async def rows()" in block.text]
    script = tmp_path / "rows.py"
    script.write_text(f"import asyncio\n{rows}")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(script)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert run.returncode == 0, run.stdout
