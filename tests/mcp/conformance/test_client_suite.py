"""The official conformance suite against the client: all required scenarios but those of users' own OAuth log-ins."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp.conformance.test_server_suite import NODE, SUITE

pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).resolve().parents[3]
# Scenarios that a revision requires of a client; those under `auth/` act for a user before a browser.
REQUIRED = {
    "2025-11-25": ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"],
    "2026-07-28": [
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
    ],
}
SCENARIOS = [(revision, scenario) for revision, scenarios in REQUIRED.items() for scenario in scenarios]


@pytest.mark.parametrize("revision", REQUIRED)
def test_the_list_is_the_suites_own(revision: str) -> None:
    listed = (SUITE.parents[1] / f"requirements/{revision}.yaml").read_text()
    section = listed.partition("\nclient:\n")[2].partition("\n\n")[0]
    required = re.findall(r"^  - (\S+)$", section, re.MULTILINE)
    assert [name for name in required if not name.startswith("auth/")] == REQUIRED[revision]


@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS)
def test_a_required_scenario_passes(revision: str, scenario: str, tmp_path: Path) -> None:
    assert_passes(scenario, tmp_path, "--spec-version", revision)


def test_oauths_client_credentials_are_used_where_they_belong(tmp_path: Path) -> None:
    """Required of nobody, and ours: the scenario's authorization server knows the client beforehand."""
    assert_passes("auth/client-credentials-basic", tmp_path)


def assert_passes(scenario: str, folder: Path, *options: str) -> None:
    program = f"{sys.executable} -m tests.mcp.conformance.client"
    command = [str(NODE), str(SUITE), "client", "--command", program, "--scenario", scenario, "-o", str(folder)]
    # The suite's own patience is no measure of a busy machine.
    command += ["--timeout", "180000", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told[-12000:]
    assert re.search(r"Passed: ([1-9]\d*)/\1, 0 failed", told), told[-4000:]
