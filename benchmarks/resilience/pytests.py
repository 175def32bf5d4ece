"""Tests that measure too: run as they are, their figures read from what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def printed(pattern: str, test: str, env: Mapping[str, str], *options: str) -> list[re.Match[str]]:
    """Run a test and find `pattern` in the lines that it prints; what else it said is shown if there is none."""
    command = [sys.executable, "-m", "pytest", test, "-q", "-s", "-p", "no:cacheprovider", "--create-db", *options]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TEST_")}
    done = subprocess.run(command, cwd=ROOT, env={**inherited, **env}, capture_output=True, text=True, check=False)
    found = list(re.finditer(pattern, done.stdout, re.MULTILINE))
    if not found:
        print(done.stdout[-3000:], done.stderr[-1000:], file=sys.stderr)
    return found
