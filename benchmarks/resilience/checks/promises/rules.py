"""Findings of Django's deployment checks, of bandit and of the repository's own rules."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.fernet import Fernet

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import ROOT

TITLE = "Deployment and source"
HOW = (
    "`manage.py check --deploy` with the settings of a deployment, bandit over the product's packages, and the "
    "repository's own rules: no query without its tenant, no raw SQL, no HTML marked as safe, no view without CSRF, "
    "no secret in a log call, except for named exceptions (tests/test_rules.py). A planted fault is added to a copy."
)
DEPLOYED, SCANNED, BROKEN = (
    "findings of check --deploy",
    "findings of bandit",
    "breaches of the repository's own rules",
)
PACKAGES = ("assistant", "tools", "config")
_NEEDED = (*PACKAGES, "templates", "tests")
# Each fault: the file and the lines that are added to it.
PLANTED: Mapping[str, tuple[str, str]] = {
    "session cookies are sent over plain HTTP": ("config/settings.py", "SESSION_COOKIE_SECURE = False\n"),
    "a module evaluates its input": ("assistant/planted.py", "eval(input())\n"),
    "a query does not filter by tenant": ("assistant/planted.py", "Conversation.objects.get(pk=1)\n"),
    "a key is logged": ("assistant/planted.py", "logger.info('%s', provider.api_key)\n"),
}
FAULTS = tuple(Fault(what, misses) for what, misses in zip(PLANTED, (DEPLOYED, SCANNED, BROKEN, BROKEN), strict=True))
RULES = (
    "import django; django.setup(); import json; from tests.test_rules import ALLOWED, all_findings; "
    "print(json.dumps([str(one) for one in all_findings() if (one.rule, one.place) not in ALLOWED]))"
)
_ISSUES = re.compile(r"System check identified (no|\d+) issues?")
_ISSUE = re.compile(r"\S+: \([\w.]+\) ")


def measure(testbed: Testbed) -> Sequence[Line]:
    root = _copy(testbed, testbed.fault.what) if testbed.fault else ROOT
    return [
        _line(testbed, DEPLOYED, _deployed(root)),
        _line(testbed, SCANNED, _scanned(root)),
        _line(testbed, BROKEN, _broken(root)),
    ]


def _line(testbed: Testbed, what: str, found: Sequence[str] | None) -> Line:
    if found is None:  # not finished: neither holds the goal nor catches a fault
        return Line(what, 0 if testbed.fault else 1, "", 0, beside="not finished")
    return Line(what, len(found), "", 0, beside="; ".join(found)[:300])


def _copy(testbed: Testbed, what: str) -> Path:
    """Return a copy of the source with the fault."""
    root = testbed.folder / f"source-{testbed.services.number()}"
    for name in _NEEDED:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "manage.py", root)
    name, lines = PLANTED[what]
    with (root / name).open("a") as file:
        file.write(lines)
    return root


def _said(root: Path, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def _deployed(root: Path) -> list[str] | None:
    """Run the check of `make lint-deployment`, with random secrets: it only checks that there are any."""
    done = _said(
        root,
        *("manage.py", "check", "--deploy", "--fail-level", "WARNING"),
        DJANGO_SETTINGS_MODULE="config.settings",
        ENV_FILE=os.devnull,
        DEBUG="false",
        ALLOWED_HOSTS="assistant.example.com",
        DATABASE_URL="sqlite://:memory:",
        SECRET_KEY=secrets.token_urlsafe(50),
        ASSISTANT_FIELD_ENCRYPTION_KEYS=Fernet.generate_key().decode(),
    )
    found = _ISSUES.search(done.stdout + done.stderr)
    if found is None:
        print(done.stderr[-3000:], file=sys.stderr)
        return None
    issues = [line for line in done.stderr.splitlines() if _ISSUE.match(line)]
    return [] if found[1] == "no" else issues or [found[0]]


def _scanned(root: Path) -> list[str] | None:
    done = _said(root, "-m", "bandit", "--quiet", "--recursive", "--format", "json", *PACKAGES, "manage.py")
    report = json.loads(done.stdout or "null")
    if report is None or report["errors"]:
        print(done.stderr[-3000:], file=sys.stderr)
        return None
    return [f"{one['test_id']} at {one['filename']}:{one['line_number']}" for one in report["results"]]


def _broken(root: Path) -> list[str] | None:
    done = _said(root, "-c", RULES, DJANGO_SETTINGS_MODULE="tests.settings")
    if done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)
        return None
    found: list[str] = json.loads(done.stdout)
    return found
