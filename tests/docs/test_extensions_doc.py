"""The snippets of docs/extensions.md run, and its tables name every hook and attribute."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from assistant.core.extensions.extension import Extension, InvalidExtension
from assistant.services.runs.extensions.deployment import ADDED, add_extension
from tests.docs.snippets import ROOT, blocks, codes, table

DOCUMENT = ROOT / "docs/extensions.md"


def test_the_snippets_run(monkeypatch: pytest.MonkeyPatch) -> None:
    first, shipped, app = blocks(DOCUMENT, "python")
    story = ModuleType("shop.extensions")
    exec(compile("\n" * first.line + first.text, str(DOCUMENT), "exec", dont_inherit=True), vars(story))
    for name in ("shop", "shop.extensions"):
        monkeypatch.setitem(sys.modules, name, story)
    exec(compile("\n" * shipped.line + shipped.text, str(DOCUMENT), "exec", dont_inherit=True), vars(story))
    story.__file__ = str(DOCUMENT)
    exec(compile("\n" * app.line + app.text, str(DOCUMENT), "exec", dont_inherit=True), vars(story))
    vars(story)["ShopConfig"]("shop", story).ready()
    assert [type(one).__name__ for one in ADDED] == ["PlainLanguage"]
    ADDED.clear()


def test_the_tables_name_all_hooks_and_attributes() -> None:
    hooks = {code.partition("(")[0] for row in table(DOCUMENT, "## Moments") for code in codes(row[0])}
    public = {name for name in vars(Extension) if not name.startswith("_")}
    attributes = {name for name in public if not callable(getattr(Extension, name))}
    assert hooks == public - attributes
    text = DOCUMENT.read_text()
    assert all(f"| `{name}` |" in text for name in attributes)


class WithTools(Extension[None]):
    """Adds tools."""

    async def tools(self, run: object) -> list[object]:  # type: ignore[override]
        return []


def test_the_tools_of_tenants_runs_are_not_added_by_extensions() -> None:
    with pytest.raises(InvalidExtension, match="module `tools`"):
        add_extension(WithTools())
