"""The rows of docs/tools.md, "Coming from Spring AI", satisfy mypy as a reader's own script does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, blocks
from tests.docs.test_tools_doc import DOCUMENT, ROWS


def scripts(folder: Path) -> list[str]:
    """Write each row as a script, after the lines that all rows stand on, and return the files."""
    text = DOCUMENT.read_text()
    begin, end = (text[: text.index(heading)].count("\n") for heading in ROWS)
    first, *rows = [block for block in blocks(DOCUMENT, "python") if begin < block.line < end]
    shop = next(line for block in rows for line in block.text.splitlines() if line.startswith("shop = McpServer("))
    files = []
    for row in rows:
        script = folder / f"row_{row.line}.py"
        if row.text.startswith('"""Save as'):
            script.write_text(row.text)
        else:
            script.write_text("\n".join([first.text, *([] if shop in row.text else [shop]), row.text]))
        files.append(str(script))
    return files


@pytest.mark.timeout(900)  # without the cache that `make lint` leaves, mypy reads the whole package
def test_mypy_checks_the_rows(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", *scripts(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stdout
