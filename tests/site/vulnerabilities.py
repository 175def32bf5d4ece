"""Looks for known vulnerabilities in the pinned versions: in a copy of an advisory database, and by services.

Exit code 1 if there is one that is rated high or critical, or that the file named in `ADVISORIES` has, which
`tests.site.advisories` writes. What could not be looked for is said, and is no failure: the services are not reachable
from every network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.site.advisories import REQUIREMENTS, affecting, pinned  # noqa: E402 - run as a script

LOCKS = ("tests/clients", "tests/client_pages", "tests/mcp/conformance")
SECONDS = 60
SEVERE = ("high", "critical")


def _said(folder: Path, *command: str) -> str:
    """Return what a command writes, "" if it cannot be run or does not end."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout


def severe_of_npm(said: str) -> list[str] | None:
    """Return the severe findings of `npm audit --json`; None if it has none to give, as without its service."""
    try:
        found = json.loads(said)
    except ValueError:
        return None
    packages = found.get("vulnerabilities") if isinstance(found, dict) else None
    if not isinstance(packages, dict):
        return None
    return [f"{name} ({one['severity']})" for name, one in packages.items() if one.get("severity") in SEVERE]


def of_python(said: str) -> list[str] | None:
    """Return the findings of `pip-audit --format json`; None if it gave none, as without its service."""
    try:
        found = json.loads(said)
        return [f"{one['name']} {one['version']}" for one in found["dependencies"] if one.get("vulns")]
    except (ValueError, KeyError, TypeError):
        return None


def main() -> int:
    outcomes = {
        lock: severe_of_npm(_said(ROOT / lock, "npm", "audit", "--package-lock-only", "--json")) for lock in LOCKS
    }
    for name in REQUIREMENTS:
        outcomes[name] = of_python(_said(ROOT, "pip-audit", "--disable-pip", "--format", "json", "-r", name))
    if file := os.environ.get("ADVISORIES"):
        known = json.loads(Path(file).read_text())
        outcomes[f"Python packages, by {len(known['advisories'])} advisories of {known['date']}"] = affecting(
            known, pinned()
        )
    else:
        outcomes["Python packages, by a copy of an advisory database (ADVISORIES is not set)"] = None
    for what, found in outcomes.items():
        if found is None:
            print(f"{what}: NOT LOOKED FOR, there is nothing that knows vulnerabilities")
        else:
            print(f"{what}: {', '.join(found) or 'none known'}")
    return 1 if any(outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
