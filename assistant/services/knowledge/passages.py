"""Splits a document into passages that are small enough to quote, with their headings or page numbers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Three passages fit into a small model's prompt.
MAX_PASSAGE_CHARACTERS = 700
MAX_HEADING_CHARACTERS = 300
# A longer paragraph is cut before patterns are matched: a match holds the interpreter's lock, and so the event loop.
_MAX_MATCHED_CHARACTERS = 30 * MAX_PASSAGE_CHARACTERS

# What closes a heading is taken off the name: a pattern for it would take the square of a long line's time.
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
# The head of a table, and the line below it. One that is too long is no head.
_TABLE = re.compile(r"\|[^\n]{1,300}\n\|[-: |]{1,200}\n")
_BLANK = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+")


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of a passage, its headings from the outermost on, and the page of a PDF counted from 1."""

    text: str
    heading: str = ""
    page: int | None = None


def split(text: str, *, kind: str, title: str = "") -> list[Piece]:
    """Split a document of a kind ("text", "markdown" or "pdf"); an outermost heading equal to `title` is left out."""
    if kind == "pdf":
        pages = enumerate(text.split("\f"), start=1)
        return [Piece(passage, page=number) for number, page in pages for passage in _packed(_paragraphs(page))]
    if kind == "text":
        return [Piece(passage) for passage in _packed(_paragraphs(text))]
    return [
        Piece(passage, heading[:MAX_HEADING_CHARACTERS])
        for heading, section in _sections(text, title)
        for passage in _packed(_paragraphs(section))
    ]


def divided(text: str, *, kind: str, most: int) -> list[Piece]:
    """Divide a document into at most `most` passages whose texts together are the whole text, unchanged.

    Passages end at line ends and begin at headings, pages (whose form feeds are left out) or blank lines, where one
    may; a passage grows longer only by a line that is. The last passage has what is left.

    Args:
        kind: as for `split`.
    """
    pieces: list[Piece] = []
    pages = text.split("\f") if kind == "pdf" else [text]
    for number, page in enumerate(pages, start=1):
        path: list[tuple[int, str]] = []
        lines: list[str] = []
        place = ""
        length = 0
        fence = ""
        for line in page.splitlines(keepends=True):
            fence, heading = _heading_in(line.rstrip("\r\n"), fence) if kind == "markdown" else ("", None)
            is_long = length > MAX_PASSAGE_CHARACTERS // 2 and not line.strip()
            is_full = length + len(line) > MAX_PASSAGE_CHARACTERS
            if lines and (heading is not None or is_long or is_full) and len(pieces) + 1 < most:
                pieces.append(Piece("".join(lines), place, number if kind == "pdf" else None))
                lines = []
                length = 0
            if heading is not None:
                path = [*((level, name) for level, name in path if level < heading[0]), heading]
            if not lines:
                place = _path(path, "")[:MAX_HEADING_CHARACTERS]
            lines.append(line)
            length += len(line)
        if lines:
            pieces.append(Piece("".join(lines), place, number if kind == "pdf" else None))
    return pieces


def _heading_in(line: str, fence: str) -> tuple[str, tuple[int, str] | None]:
    """Return the fence that is open behind a line of Markdown, and the level and name of a heading in it."""
    mark = _FENCE.match(line)
    if mark:
        return ("" if mark[1] == fence else fence or mark[1]), None
    heading = None if fence else _HEADING.fullmatch(line)
    return fence, heading and (len(heading[1]), heading[2].rstrip("#").rstrip()[:MAX_HEADING_CHARACTERS])


def _sections(text: str, title: str) -> Iterator[tuple[str, str]]:
    """Split Markdown at its headings into (heading path such as "Returns › Damaged goods", text below it)."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1] == fence:
            fence = ""
        heading = None if fence else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        yield _path(path, title), "\n".join(lines)
        lines = []
        name = heading[2].rstrip("#").rstrip()[:MAX_HEADING_CHARACTERS]
        path = [*((level, outer) for level, outer in path if level < len(heading[1])), (len(heading[1]), name)]
    yield _path(path, title), "\n".join(lines)


def _path(path: list[tuple[int, str]], title: str) -> str:
    names = [name for _, name in path if name]
    if names and names[0].casefold() == title.casefold():
        names = names[1:]
    return " › ".join(names)


def _paragraphs(text: str) -> Iterator[str]:
    start = 0
    for blank in _BLANK.finditer(text):
        yield text[start : blank.start()]
        start = blank.end()
    yield text[start:]


def _packed(blocks: Iterable[str]) -> Iterator[str]:
    """Join paragraphs up to the length of a passage; split those that are longer at sentences."""
    passage = ""
    for block in blocks:
        for part in _fitting(block.strip()):
            if passage and len(passage) + len(part) + 2 > MAX_PASSAGE_CHARACTERS:
                yield passage
                passage = ""
            passage = f"{passage}\n\n{part}" if passage else part
    if passage:
        yield passage


def _fitting(block: str) -> Iterator[str]:
    if len(block) <= MAX_PASSAGE_CHARACTERS:
        if block:
            yield block
        return
    if table := _TABLE.match(block):
        yield from _of_table(table[0], block[table.end() :])
        return
    piece = ""
    for gap, sentence in _sentences(block):
        for part in textwrap.wrap(sentence, MAX_PASSAGE_CHARACTERS):
            if piece and len(piece) + len(part) + 1 > MAX_PASSAGE_CHARACTERS:
                yield piece
                piece = ""
            piece = f"{piece}{gap}{part}" if piece else part
    if piece:
        yield piece


def _of_table(head: str, rest: str) -> Iterator[str]:
    """Divide the rows of a table of Markdown, each part below the table's head."""
    piece = head
    for row in rest.split("\n"):
        # A row without room stands alone, divided as any text is.
        if len(head) + len(row) > MAX_PASSAGE_CHARACTERS:
            if piece != head:
                yield piece.rstrip("\n")
            piece = head
            yield from textwrap.wrap(row, MAX_PASSAGE_CHARACTERS)
            continue
        if len(piece) + len(row) > MAX_PASSAGE_CHARACTERS:
            yield piece.rstrip("\n")
            piece = head
        piece = f"{piece}{row}\n"
    if piece != head:
        yield piece.rstrip("\n")


def _sentences(block: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before each sentence, a blank or a line end, and the sentence. Rows of a table stay lines."""
    for part in _cut(block):
        for line in part.split("\n"):
            yield from (("\n" if number == 0 else " ", one) for number, one in enumerate(_SENTENCE.split(line)))


def _cut(block: str) -> Iterator[str]:
    """Cut a block at blanks or line ends, or anywhere where there are none, into parts of bounded length."""
    start = 0
    while len(block) - start > _MAX_MATCHED_CHARACTERS:
        most = start + _MAX_MATCHED_CHARACTERS
        end = max(block.rfind(" ", start + 1, most), block.rfind("\n", start + 1, most))
        end = most if end < 0 else end
        yield block[start:end]
        start = end
    yield block[start:]
