"""Pinned versions are compared with advisories that somebody has brought here, by OSV's rule for ranges."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT
from tests.site.advisories import ACCEPTED, affecting, pinned, pins_of, snapshot

ADVISORY = """
id: PYSEC-1
aliases: [CVE-1]
details: A letter
  can be read by strangers.
affected:
- package: {ecosystem: PyPI, name: Letter_Box}
  ranges:
  - type: GIT
    events: [{introduced: "0"}]
  - type: ECOSYSTEM
    events: [{introduced: "0"}, {fixed: "1.5"}, {introduced: "2.0"}, {last_affected: "2.3"}]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of a database with one advisory, and a withdrawn one."""
    folder = tmp_path / "vulns" / "letter-box"
    folder.mkdir(parents=True)
    (folder / "PYSEC-1.yaml").write_text(ADVISORY)
    (folder / "PYSEC-2.yaml").write_text(f"{ADVISORY}withdrawn: 2024-01-01T00:00:00Z\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "x", "--date", "2024-02-03T12:00:00Z")):
        subprocess.run(
            ["git", "-C", str(tmp_path), *command], check=True, env={"GIT_COMMITTER_DATE": "2024-02-03T12:00:00Z"}
        )
    return tmp_path


@pytest.mark.parametrize(
    ("version", "is_affected"),
    [("0.1", True), ("1.5rc1", True), ("1.5", False), ("1.9", False), ("2.0", True), ("2.3", True), ("2.3.1", False)],
)
def test_a_version_in_an_affected_range_is_named_with_what_fixes_it(
    checkout: Path, version: str, is_affected: bool
) -> None:
    known = snapshot(checkout, ["letter-box"])
    assert known["date"] == "2024-02-03"
    sentence = f"letter-box {version}: PYSEC-1 A letter can be read by strangers. (fixed in 1.5)"
    assert affecting(known, {("letter-box", version), ("other", "0.1")}) == ([sentence] if is_affected else [])


def test_every_version_of_a_lock_is_read() -> None:
    text = (
        "Letter_Box[a,b]==2.0 ; python_version < '3.12' \\\n    --hash=sha256:0\nletter-box==2.4 \\\n    # via x==1\n"
    )
    assert pins_of(text) == {("letter-box", "2.0"), ("letter-box", "2.4")}
    assert len({name for name, _ in pinned()}) > 100


def test_what_is_accepted_has_a_reason() -> None:
    assert all(reason.strip() for reason in ACCEPTED.values())


def test_the_step_fails_for_what_is_known_and_says_of_when_it_is(tmp_path: Path) -> None:
    version = next(version for name, version in pinned() if name == "django")
    advisory = {
        "id": "X-1",
        "aliases": [],
        "package": "django",
        "events": [],
        "versions": [version],
        "summary": "Leaks.",
    }
    file = tmp_path / "advisories.json"
    file.write_text(json.dumps({"date": "2024-02-03", "advisories": [advisory]}))
    step = [sys.executable, str(ROOT / "tests/site/vulnerabilities.py")]
    done = subprocess.run(step, capture_output=True, text=True, check=False, env={"ADVISORIES": str(file), "PATH": ""})
    assert done.returncode == 1
    assert f"by 1 advisories of 2024-02-03: django {version}: X-1 Leaks. (fixed in no version)" in done.stdout
    without = subprocess.run(step, capture_output=True, text=True, check=False, env={"PATH": ""})
    assert without.returncode == 0 and "NOT LOOKED FOR" in without.stdout
