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
ROWS = ("\n## Coming from Spring AI\n", "\n### Reference calls\n")


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
@pytest.mark.timeout(300)  # some rows start a program each
def test_the_snippets_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    story: dict[str, object] = {"__name__": __name__}
    for block in blocks(DOCUMENT, "python"):
        if named := re.match(r'"""Save as (\w+\.py)\.', block.text):
            (tmp_path / named[1]).write_text(block.text)
        padded = "\n" * block.line + block.text
        exec(compile(padded, str(block.document), "exec", dont_inherit=True), story)


def test_the_index_links_to_snippets() -> None:
    for _, cell in table(DOCUMENT, INDEX):
        for name, anchor in re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", cell):
            assert "```python" in sections(ROOT / "docs" / name if name else DOCUMENT)[anchor], anchor


def test_every_section_with_a_snippet_is_in_the_index() -> None:
    linked = {anchor for row in table(DOCUMENT, INDEX) for anchor in re.findall(r"\(#([\w-]+)\)", row[1])}
    assert {anchor for anchor, text in sections(DOCUMENT).items() if "```python" in text} == linked


def rows() -> dict[str, str]:
    """What stands below each bold beginning of a row, up to the next row or heading."""
    text = DOCUMENT.read_text()
    section = text[text.index(ROWS[0]) : text.index(ROWS[1])]
    parts = re.split(r"^\*\*(.+?)\*\*", section, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_row_has_lines_of_its_own_or_a_reason() -> None:
    bare = [
        name
        for name, text in rows().items()
        if "```python" not in text and not (text.startswith(" Not") and "because" in text)
    ]
    assert not bare


def test_a_row_is_short() -> None:
    """A server that several rows call is longer."""
    long = [block for block in blocks(DOCUMENT, "python") if block.text.count("\n") > 30 and _is_of_row(block.line)]
    assert [block.text.split("\n")[0] for block in long] == ["import asyncio", '"""Save as mcp_shop.py."""']


def _is_of_row(line: int) -> bool:
    text = DOCUMENT.read_text()
    begin, end = (text[: text.index(heading)].count("\n") for heading in ROWS)
    return begin < line < end
