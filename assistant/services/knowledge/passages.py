"""Cuts a document into passages: small enough to quote whole, each under its heading or on its page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Characters of a passage: three of them fit a small model's prompt.
MAX_PASSAGE = 700
MAX_HEADING = 300

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_BLANK = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n")


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage's text, its headings from the outermost on, and the page of a PDF, counted from 1."""

    text: str
    heading: str = ""
    page: int | None = None


def split(text: str, *, kind: str, title: str = "") -> list[Piece]:
    """The passages of a text, markdown or pdf, in order; a top heading that repeats `title` is left out of theirs."""
    if kind == "pdf":
        pages = enumerate(text.split("\f"), start=1)
        return [Piece(passage, page=number) for number, page in pages for passage in _packed(_BLANK.split(page))]
    if kind == "text":
        return [Piece(passage) for passage in _packed(_BLANK.split(text))]
    return [
        Piece(passage, heading[:MAX_HEADING])
        for heading, section in _sections(text, title)
        for passage in _packed(_BLANK.split(section))
    ]


def _sections(text: str, title: str) -> Iterator[tuple[str, str]]:
    """Markdown by its headings: ("Returns › Damaged goods", what stands below)."""
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
        path = [*((level, name) for level, name in path if level < len(heading[1])), (len(heading[1]), heading[2])]
    yield _path(path, title), "\n".join(lines)


def _path(path: list[tuple[int, str]], title: str) -> str:
    names = [name for _, name in path if name]
    if names and names[0].casefold() == title.casefold():
        names = names[1:]
    return " › ".join(names)


def _packed(blocks: Iterable[str]) -> Iterator[str]:
    """Paragraphs put together up to a passage's length, and cut at sentences where one alone is longer."""
    passage = ""
    for block in blocks:
        for part in _fitting(block.strip()):
            if passage and len(passage) + len(part) + 2 > MAX_PASSAGE:
                yield passage
                passage = ""
            passage = f"{passage}\n\n{part}" if passage else part
    if passage:
        yield passage


def _fitting(block: str) -> Iterator[str]:
    if len(block) <= MAX_PASSAGE:
        if block:
            yield block
        return
    piece = ""
    for sentence in _SENTENCE.split(block):
        for part in textwrap.wrap(sentence, MAX_PASSAGE):
            if piece and len(piece) + len(part) + 1 > MAX_PASSAGE:
                yield piece
                piece = ""
            piece = f"{piece} {part}" if piece else part
    if piece:
        yield piece
