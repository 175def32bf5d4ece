"""Every snippet of docs/tools.md runs, in the order of the document, and its index names every section that has one."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, blocks, table

DOCUMENT = ROOT / "docs/tools.md"
INDEX = "## Feature index"


def sections(document: Path) -> dict[str, str]:
    """The text of each section by the anchor of its heading."""
    parts = re.split(r"^#{1,6} (.+)$", document.read_text(), flags=re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in parts[1::2]]
    return dict(zip(anchors, parts[2::2], strict=True))


@pytest.fixture
def usual_logs() -> Iterator[None]:
    """Undo what a snippet sets: other tests of the process count calls, and logging makes more of them."""
    logger = logging.getLogger("assistant.toolkit")
    level = logger.level
    yield
    logger.setLevel(level)


@pytest.mark.usefixtures("usual_logs")
def test_the_snippets_run() -> None:
    story: dict[str, object] = {"__name__": __name__}
    for block in blocks(DOCUMENT, "python"):
        padded = "\n" * block.line + block.text
        exec(compile(padded, str(block.document), "exec", dont_inherit=True), story)


def test_the_index_links_to_snippets() -> None:
    for _, cell in table(DOCUMENT, INDEX):
        for name, anchor in re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", cell):
            assert "```python" in sections(ROOT / "docs" / name if name else DOCUMENT)[anchor], anchor


def test_every_section_with_a_snippet_is_in_the_index() -> None:
    linked = {anchor for row in table(DOCUMENT, INDEX) for anchor in re.findall(r"\(#([\w-]+)\)", row[1])}
    assert {anchor for anchor, text in sections(DOCUMENT).items() if "```python" in text} == linked
