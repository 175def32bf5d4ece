"""Has ways walked in a process of their own, and holds what they enter against the figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

from tests.ways.counting import Counts

Report = Mapping[str, Any]


def walked(walks: str, folder: Path, *, apps: str) -> dict[str, Report]:
    """Return what each way of a module beside this one enters, by its name.

    Args:
        apps: "core" for the core alone, "rest" for the site with all optional apps.
    """
    module = Path(__file__).parent / walks
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", str(module)]
    # What writes down runs, in CI, is no part of a way.
    inner = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "RECORD_"))}
    done = subprocess.run(
        command,
        env={**inner, "WAYS": str(folder), "TEST_APPS": apps},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {file.stem: json.loads(file.read_text()) for file in folder.glob("*.json")}


def counts_of(report: Report) -> Counts:
    return Counts(report["files"], report["functions"], report["moves"])


def grown(figures: Mapping[str, Counts], reports: Mapping[str, Report]) -> list[str]:
    """Return a line for each way that enters more than its figure."""
    assert figures.keys() == reports.keys()
    return [
        f"{name}: {counts_of(reports[name])} instead of {most}"
        for name, most in figures.items()
        if any(now > then for now, then in zip(astuple(counts_of(reports[name])), astuple(most), strict=True))
    ]


def table(reports: Mapping[str, Report]) -> str:
    rows = [f"{'way':24}{'files':>8}{'functions':>12}{'moves':>8}"]
    for name, report in sorted(reports.items()):
        rows.append(f"{name:24}{report['files']:>8}{report['functions']:>12}{report['moves']:>8}")
    return "\n".join(rows)
