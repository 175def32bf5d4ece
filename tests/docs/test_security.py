"""SECURITY.md: every test and file that it names is there, and every item of the lists has its row."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.docs.snippets import ROOT

TEXT = (ROOT / "SECURITY.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:tests|benchmarks|docs)/[^`]*)`", TEXT)))
# AISVS 1.0: how many requirements each section has.
SECTIONS = {
    "9.1": 3, "9.2": 10, "9.3": 8, "9.4": 4, "9.5": 6, "9.6": 3, "10.1": 3, "10.2": 7, "10.3": 5, "10.4": 8,
}  # fmt: skip


@cache
def functions(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("name", NAMED)
def test_what_is_named_is_there(name: str) -> None:
    path, _, function = name.partition("::")
    assert (ROOT / path).exists()
    assert not function or function in functions(path)


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
