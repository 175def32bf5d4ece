"""Reads the fenced blocks and tables of the documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs").glob("*.md")))
DECISIONS = tuple(sorted((ROOT / "docs/decisions").glob("*.md")))
_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words after it, and its place."""

    document: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.document.name}:{self.line}"


def blocks(document: Path, *languages: str) -> list[Block]:
    """The blocks of a document in these languages (in all, if none is named), from top to bottom."""
    text = document.read_text()
    found = []
    for match in _BLOCK.finditer(text):
        language, *words = match["info"].split() or [""]
        if not languages or language in languages:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(document, line, language, tuple(words), match["text"]))
    return found


def table(document: Path, heading: str) -> list[list[str]]:
    """The rows (without the head) of the first table after a heading, cell by cell."""
    _, _, rest = document.read_text().partition(f"\n{heading}\n")
    rows = re.search(r"(?:^\|.*\n)+", rest, re.MULTILINE)
    assert rows, f"no table after {heading!r} in {document.name}"
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[0].splitlines()[2:]]


def codes(cell: str) -> list[str]:
    """Return the texts between backticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)
