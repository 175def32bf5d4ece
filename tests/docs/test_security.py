"""SECURITY.md: every item of the lists has its row. What it names is there: `tests/test_architecture.py`."""

from __future__ import annotations

import re

from tests.docs.snippets import ROOT

TEXT = (ROOT / "SECURITY.md").read_text()
# AISVS 1.0: how many requirements each section has.
SECTIONS = {
    "9.1": 3, "9.2": 10, "9.3": 8, "9.4": 4, "9.5": 6, "9.6": 3, "10.1": 3, "10.2": 7, "10.3": 5, "10.4": 8,
}  # fmt: skip


def rows() -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line[:2] == "| "]


def test_every_item_has_a_row() -> None:
    items = {item for row in rows() for item in re.findall(r"LLM\d\d:2026|ASI\d\d|\b(?:9|10)\.\d\.\d+", row[0])}
    aisvs = {f"{section}.{number + 1}" for section, count in SECTIONS.items() for number in range(count)}
    tens = {f"LLM{number:02}:2026" for number in range(1, 11)} | {f"ASI{number:02}" for number in range(1, 11)}
    assert items == aisvs | tens


def test_every_row_names_its_test() -> None:
    without = [row[0] for row in rows() if row[-1] != "Tested by" and not row[0].startswith("-") and "`" not in row[-1]]
    assert without == []
