"""Every snippet of docs/tools.md runs, in the order of the document, and every row of its table leads to one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, blocks, table

DOCUMENT = ROOT / "docs/tools.md"


def sections(document: Path) -> dict[str, str]:
    """The text of each section by the anchor of its heading."""
    parts = re.split(r"^#{1,6} (.+)$", document.read_text(), flags=re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in parts[1::2]]
    return dict(zip(anchors, parts[2::2], strict=True))


def test_the_snippets_run() -> None:
    story: dict[str, object] = {"__name__": __name__}
    for block in blocks(DOCUMENT, "python"):
        padded = "\n" * block.line + block.text
        exec(compile(padded, str(block.document), "exec", dont_inherit=True), story)


@pytest.mark.parametrize(
    ("area", "feature", "link"), table(DOCUMENT, "## What tools can do"), ids=lambda cell: cell[:40]
)
def test_a_row_of_the_table_leads_to_a_snippet(area: str, feature: str, link: str) -> None:
    [(name, anchor)] = re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", link)
    text = sections(ROOT / "docs" / name if name else DOCUMENT)[anchor]
    assert "```python" in text


def test_every_area_has_its_rows() -> None:
    numbers = [int(area.split()[0]) for area, *_ in table(DOCUMENT, "## What tools can do") if area[0].isdigit()]
    assert sorted(set(numbers)) == list(range(1, 18))
