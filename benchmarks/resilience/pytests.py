"""Runs tests of the suite as measurements: by the figures that they print, or by their outcome."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.resilience.check import Fault, Testbed

ROOT = Path(__file__).resolve().parents[2]
# Lines of pytest's summary. A test that fails with anything but an assertion did not finish.
_ENDED = r"^(PASSED|FAILED|ERROR) ([^\s\[]+)(.*)$"
_ASSERTED = re.compile(r" - (?:AssertionError|assert |Failed: DID NOT RAISE)")
PLUGIN = ("-p", "benchmarks.resilience.planting")
# Without it pytest shortens its summary to the terminal's width.
_WIDE = {"COLUMNS": "1000"}


def printed(pattern: str, test: str, env: Mapping[str, str], *options: str) -> list[re.Match[str]]:
    """Run a test and return the matches of `pattern` in its output; without any, print its output."""
    command = [sys.executable, "-m", "pytest", test, "-q", "-s", "-p", "no:cacheprovider", *options]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TEST_")}
    done = subprocess.run(command, cwd=ROOT, env={**inherited, **env}, capture_output=True, text=True, check=False)
    found = list(re.finditer(pattern, done.stdout, re.MULTILINE))
    if not found:
        print(done.stdout[-3000:], done.stderr[-1000:], file=sys.stderr)
    return found


def failed(tests: Sequence[str], fault: Fault | None, env: Mapping[str, str]) -> list[str]:
    """Run tests with `fault` planted in their process, and return the names of those that did not pass: `unpassed`."""
    said = printed(_ENDED, tests[0], {**env, **_WIDE, **planted(fault)}, *tests[1:], "-rA", *PLUGIN)
    return unpassed(tests, [one[0] for one in said], is_planted=fault is not None)


def unpassed(tests: Sequence[str], summary: Sequence[str], *, is_planted: bool) -> list[str]:
    """Return the names of those of `tests` that did not pass, by the lines of pytest's summary.

    A test that did not finish or never ran neither holds a goal nor catches a fault: with a planted fault only failed
    assertions count.
    """
    ends = [one for one in map(re.compile(_ENDED).match, summary) if one]
    passed = {one[2] for one in ends if one[1] == "PASSED"}
    asserted = {one[2] for one in ends if one[1] == "FAILED" and _ASSERTED.search(one[3])}
    bad = asserted if is_planted else {*tests} - passed | {one[2] for one in ends if one[1] != "PASSED"}
    return [test.rpartition("::")[2] for test in tests if test in bad]


def planted(fault: Fault | None) -> dict[str, str]:
    """Return the environment in which `PLUGIN` plants a fault."""
    return {"PLANTED": fault.name} if fault and fault.plant else {}


def on_postgres(testbed: Testbed) -> dict[str, str]:
    """Return the environment in which tests use a new PostgreSQL database, and Redis."""
    name = f"tested_{testbed.services.number()}"
    testbed.services.postgres.run(f"CREATE DATABASE {name}")
    return {
        "TEST_DATABASE_URL": testbed.services.postgres.url(name),
        "TEST_REDIS_URL": testbed.services.redis.url(testbed.services.number()),
    }
