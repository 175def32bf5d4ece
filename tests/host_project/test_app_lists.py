"""The projects that have everything have every optional app: what a list leaves out is tried nowhere."""

from __future__ import annotations

import re

import pytest

from tests.docs.snippets import ROOT

pytestmark = pytest.mark.once
APPS = {f"assistant.contrib.{path.parent.name}" for path in (ROOT / "assistant/contrib").glob("*/apps.py")}
# The shop's rows are for the app of own data, not the CRM's.
LISTS = {
    "tests/host_project/crm/site_settings.py": APPS - {"assistant.contrib.data"},
    "tests/host_matrix/project/with_assistant.py": APPS,
}


@pytest.mark.parametrize("path", LISTS)
def test_a_project_with_everything_has_every_app(path: str) -> None:
    named = re.findall(r'^    "(assistant\.contrib\.\w+)",$', (ROOT / path).read_text(), re.MULTILINE)
    assert sorted(named) == sorted(LISTS[path])
