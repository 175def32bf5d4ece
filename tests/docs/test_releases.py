"""docs/releases.md says what pyproject.toml says; the version is written in one place, and the changelog has it."""

from __future__ import annotations

import re
import tomllib

from tests.docs.snippets import ROOT, codes, table

DOCUMENT = ROOT / "docs/releases.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]


def supported(what: str) -> set[str]:
    (row,) = (row for row in table(DOCUMENT, "## Supported versions") if row[0] == what)
    return set(re.findall(r"\d+\.\d+", row[1]))


def classified(prefix: str) -> set[str]:
    return {one.removeprefix(prefix) for one in PROJECT["classifiers"] if one.startswith(prefix)}


def test_the_supported_versions_are_those_of_the_package() -> None:
    assert supported("Python") == classified("Programming Language :: Python :: ")
    assert supported("Django") == classified("Framework :: Django :: ")


def test_every_extra_is_documented_and_there_is_no_other() -> None:
    listed = {name for row in table(DOCUMENT, "## Install a release") for name in codes(row[0])}
    assert listed == set(PROJECT["optional-dependencies"])


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first and first[1] == VERSION
    assert f"tenant_assistant-{VERSION}-py3" in DOCUMENT.read_text() and f"`v{VERSION}`" in DOCUMENT.read_text()
