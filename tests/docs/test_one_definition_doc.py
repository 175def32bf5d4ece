"""The section of docs/mcp.md on one tool in three places: its snippets run, with its tool in an app of a site."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assistant.services.tenancy.members import create_api_key
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry
from tests.base import Cast
from tests.docs.snippets import ROOT, blocks
from tests.docs.test_mcp_doc import ADDRESS, run
from tests.live import serve

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("provider")]

DOCUMENT = ROOT / "docs/mcp.md"
HEADING = "\n## One definition, three places\n"
SETTINGS = """from tests.settings import *
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "shop"]
"""


def test_one_definition_serves_a_script_a_tenants_run_and_mcp(
    tmp_path: Path, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _, section = DOCUMENT.read_text().partition(HEADING)
    first = before.count("\n")
    last = first + section.partition("\n## ")[0].count("\n") + 1
    definition, script, in_a_run, over_mcp = [
        block.text for block in blocks(DOCUMENT, "python") if first <= block.line <= last
    ]
    app = tmp_path / "shop"
    app.mkdir()
    for name, text in {"__init__": "", "tools": definition, "settings": SETTINGS}.items():
        (app / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    story: dict[str, object] = {}
    try:
        exec(compile(script, str(DOCUMENT), "exec", dont_inherit=True), story)
        exec(compile(in_a_run, str(DOCUMENT), "exec", dont_inherit=True), story)
        with catalogue.using(Registry.discover("shop.tools")):
            story["check_in_a_run"](cast.acme, cast.alice)  # type: ignore[operator]
    finally:
        for name in ("shop.tools", "shop"):
            sys.modules.pop(name, None)
    environment = {"DJANGO_SETTINGS_MODULE": "shop.settings", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    with serve(env=environment, folder=tmp_path) as site:
        for tenant, user, count in ((cast.acme, cast.alice, "42"), (cast.globex, cast.mallory, "7")):
            key = create_api_key(tenant=tenant, user=user, name="mcp")[1]
            told = run(f"python - <<'END'\n{over_mcp.replace(ADDRESS, site.url)}\nEND", API_KEY=key)
            assert told.splitlines() == ["Tell how many of an article are in stock. True", count]
