"""What the matrix has seen to work, and the table of it in README."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.docs.snippets import ROOT

RECORD = Path(__file__).parent / "works_in.json"
DOCUMENT = ROOT / "README.md"
HEADING = "## Works in"
_NAMES = {"python": "Python", "django": "Django", "wagtail": "Wagtail", "channels": "Channels"}
_TABLE = re.compile(r"^\| Project \|.*\n(?:\|.*\n)*", re.MULTILINE)


def write_down(name: str, title: str, report: Mapping[str, Any], *, roles: Sequence[str], order: Iterable[str]) -> None:
    """Write down that nothing broke in a host, and bring README up to date.

    Args:
        order: the names of all hosts, as the table has them.
    """
    counts: Mapping[str, int] = report["counts"]
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    found[name] = {
        "title": title,
        "versions": report["versions"],
        "roles": list(roles),
        "date": datetime.now(UTC).date().isoformat(),
        # Each is counted as a method and a status, such as "GET 200".
        "requests": sum(count for what, count in counts.items() if what[:1].isupper()),
        "pages": counts["pages"],
    }
    RECORD.write_text(json.dumps({one: found[one] for one in order if one in found}, indent=2) + "\n")
    before, heading, after = DOCUMENT.read_text().partition(f"{HEADING}\n")
    DOCUMENT.write_text(before + heading + _TABLE.sub(lambda _: table(), after, count=1))


def table() -> str:
    """Return the record as a table in Markdown."""
    lines = ["| Project | Versions | As | Pages | Tried on |", "|---|---|---|---|---|"]
    for row in json.loads(RECORD.read_text()).values():
        versions = ", ".join(
            f"{_NAMES.get(package, package)} {version}" for package, version in row["versions"].items()
        )
        lines.append(f"| {row['title']} | {versions} | {', '.join(row['roles'])} | {row['pages']} | {row['date']} |")
    return "\n".join(lines) + "\n"
