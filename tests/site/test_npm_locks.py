"""Packages from npm are installed from locks, with hashes and without scripts; a look for vulnerabilities is honest."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.docs.snippets import ROOT
from tests.site.vulnerabilities import LOCKS, of_python, severe_of_npm

MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("folder", LOCKS)
def test_a_lock_has_every_package_with_its_hash_and_names_no_host_to_fetch_from(folder: str) -> None:
    lock = json.loads((ROOT / folder / "package-lock.json").read_text())
    declared = json.loads((ROOT / folder / "package.json").read_text())
    root: dict[str, Any] = lock["packages"].pop("")
    assert root["dependencies"] == declared["dependencies"]
    assert all("integrity" in one for one in lock["packages"].values())
    assert not any("resolved" in one for one in lock["packages"].values())


def test_installing_runs_no_script_and_resolves_nothing() -> None:
    commands = re.findall(r"\bnpm (?:install|ci|i)\b[^\n]*", MAKEFILE)
    assert commands and all("--ignore-scripts" in one for one in commands)
    assert all(one.startswith("npm ci") or "--package-lock-only" in one for one in commands)
    for folder in ("CONFORMANCE", "CLIENTS", "CLIENT_PAGES"):
        assert f"$({folder})/node_modules/.installed: $({folder})/package-lock.json" in MAKEFILE


def test_what_was_not_looked_for_is_not_taken_for_clean() -> None:
    assert severe_of_npm("") is None and severe_of_npm('{"error": {"code": "E405"}}') is None
    assert severe_of_npm('{"vulnerabilities": {}}') == []
    assert severe_of_npm('{"vulnerabilities": {"a": {"severity": "high"}, "b": {"severity": "low"}}}') == ["a (high)"]
    assert of_python("") is None and of_python("[]") is None
    assert of_python('{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "x"}]}]}') == ["a 1"]
