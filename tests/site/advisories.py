"""Known vulnerabilities of the pinned Python packages, from a copy of an advisory database: no service is asked.

`python -m tests.site.advisories CHECKOUT FILE` writes the advisories about these packages, of a checkout of a database
in the format of OSV with a folder `vulns` (as that of the Python Packaging Advisory Database), into one dated file.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt")
MAX_SUMMARY = 200
# Advisories that a pinned version is affected by all the same, by id, with the reason why that is acceptable.
ACCEPTED: Mapping[str, str] = {}
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


def pins_of(requirements: str) -> set[tuple[str, str]]:
    """Return the names and versions that a file of requirements pins."""
    return {(canonicalize_name(name), version) for name, version in _PIN.findall(requirements)}


def pinned() -> set[tuple[str, str]]:
    """Return what the locks pin; a package may have several versions for several versions of Python."""
    return set().union(*(pins_of((ROOT / name).read_text()) for name in REQUIREMENTS))


def snapshot(checkout: Path, packages: Iterable[str]) -> dict[str, Any]:
    """Return the advisories about packages that a checkout has and that are not withdrawn, with its last commit's date.

    Raises:
        subprocess.CalledProcessError: the folder is no checkout of git.
    """
    found: list[dict[str, Any]] = []
    for package in sorted(set(packages)):
        listed = _git(checkout, "ls-tree", "-r", "--name-only", "HEAD", f"vulns/{package}/").split()
        for path in listed:
            read = yaml.safe_load(_git(checkout, "show", f"HEAD:{path}"))
            if not read.get("withdrawn"):
                found += _compact(read, package)
    return {"date": _git(checkout, "log", "-1", "--format=%cs").strip(), "advisories": found}


def affecting(found: Mapping[str, Any], pins: Iterable[tuple[str, str]]) -> list[str]:
    """Return a sentence for each advisory of a snapshot that a pinned version is affected by, unless it is accepted."""
    by_package: dict[str, list[Mapping[str, Any]]] = {}
    for one in found["advisories"]:
        by_package.setdefault(one["package"], []).append(one)
    return [
        f"{package} {version}: {one['id']} {one['summary']} (fixed in {', '.join(_fixes(one)) or 'no version'})"
        for package, version in sorted(pins)
        for one in by_package.get(package, ())
        if not {one["id"], *one["aliases"]} & ACCEPTED.keys() and _is_affected(version, one)
    ]


def _git(checkout: Path, *command: str) -> str:
    done = subprocess.run(["git", "-C", str(checkout), *command], capture_output=True, text=True, check=True)
    return done.stdout


def _compact(read: Mapping[str, Any], package: str) -> Iterator[dict[str, Any]]:
    for one in read.get("affected", ()):
        if one["package"].get("ecosystem") != "PyPI" or canonicalize_name(one["package"]["name"]) != package:
            continue
        # Commits of git are no versions.
        events = [
            {kind: str(value) for kind, value in event.items()}
            for ranged in one.get("ranges", ())
            if ranged.get("type") == "ECOSYSTEM"
            for event in ranged.get("events", ())
        ]
        summary = " ".join(str(read.get("summary") or read.get("details") or "").split())[:MAX_SUMMARY]
        yield {
            "id": read["id"],
            "aliases": list(read.get("aliases", ())),
            "package": package,
            "events": events,
            # Those outside of the ranges too: some advisories have no ranges.
            "versions": [] if events else [str(version) for version in one.get("versions", ())],
            "summary": summary,
        }


def _fixes(advisory: Mapping[str, Any]) -> list[str]:
    return [event["fixed"] for event in advisory["events"] if "fixed" in event]


def _is_affected(version: str, advisory: Mapping[str, Any]) -> bool:
    """Return whether a version is in the ranges, as OSV evaluates them: the last event at or before it decides."""
    if version in advisory["versions"]:
        return True
    is_affected = False
    for at, kind in sorted((_key(value), kind) for event in advisory["events"] for kind, value in event.items()):
        if at < Version(version) or (at == Version(version) and kind != "last_affected"):
            is_affected = kind == "introduced"
    return is_affected


def _key(value: str) -> Version:
    """Return a version that can be compared; "0" and what is none stand before every other."""
    try:
        return Version(value)
    except InvalidVersion:
        return Version("0.dev0")


if __name__ == "__main__":
    made = snapshot(Path(sys.argv[1]), {package for package, _ in pinned()})
    Path(sys.argv[2]).write_text(json.dumps(made, indent=1) + "\n")
    print(f"{len(made['advisories'])} advisories of {made['date']} about the pinned packages")
