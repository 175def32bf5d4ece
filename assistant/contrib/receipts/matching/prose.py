"""What of an answer is prose: code blocks, addresses, list numbers and citations are left alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_LIST_NUMBER = re.compile(r"^[ \t>]*(?:#{1,6}[ \t]+)?\d{1,3}[.)](?=\s)", re.MULTILINE)
_CITATION = re.compile(r"\[\d{1,9}(?:\.\d{1,9})?(?:[,;] ?\d{1,9}(?:\.\d{1,9})?){0,9}\](?!\()")
_NUMBER = re.compile(r"[\d.]+")
_INLINE_CODE = re.compile(r"(`+)[^`\n]{1,2000}\1")
_TARGET = re.compile(r"(?<=\])\([^()\s]{1,2000}(?:\s+\"[^\"\n]{0,300}\")?\)")
_URL = re.compile(r"\b(?:https?|ftp|mailto):[^\s<>)\]|]+", re.IGNORECASE)
# As assistant/markdown/formulas.py finds them, which says when a dollar sign is one of currency.
_FORMULA = re.compile(
    r"\$\$.+?\$\$|\\\(.+?\\\)|\\\[.+?\\\]"
    r"|(?<![A-Za-z0-9_$])\$(?![\s$])(?:[^$\\\n]|\\[^\n]){1,500}(?<!\s)\$(?![A-Za-z0-9_$])",
    re.DOTALL,
)
_STEP = re.compile(
    r"\b(?:step|option|part|point|figure|version|chapter|question"
    r"|schritt|punkt|teil|kapitel|abbildung|frage)[ \u00a0]\d{1,2}\b",
    re.IGNORECASE,
)


def masked(markdown: str) -> str:
    """Return a text of the same length in which all that is no prose is blank."""
    prose = _without_code(markdown)
    text = list(prose)
    for pattern in (_FORMULA, _URL, _TARGET, _CITATION, _LIST_NUMBER, _STEP):
        for found in pattern.finditer(prose):
            _blank(text, *found.span())
        prose = "".join(text)
    return prose


@dataclass(frozen=True, slots=True)
class Unoffered:
    """A citation, such as `[3]` or `[3, 7.2]`, with the numbers in it that were not offered.

    Attributes:
        occurrence: which of the places of this text in the prose it is.
    """

    start: int
    end: int
    occurrence: int
    numbers: list[str]


def unoffered_citations(markdown: str, offered: AbstractSet[str]) -> Iterator[Unoffered]:
    """Yield the citations that name a number which is not `offered`."""
    prose = _without_code(markdown)
    in_code = [code.span() for code in _INLINE_CODE.finditer(prose)]
    seen = Counter[str]()
    for found in _CITATION.finditer(prose):
        occurrence = seen[found[0]]
        seen[found[0]] += 1
        if any(start <= found.start() < end for start, end in in_code):
            continue
        numbers = [number for number in _NUMBER.findall(found[0]) if number not in offered]
        if numbers:
            yield Unoffered(*found.span(), occurrence, numbers)


def _without_code(markdown: str) -> str:
    """Return a text of the same length in which blocks of code are blank."""
    text = list(markdown)
    fence = ""
    place = 0
    for line in markdown.splitlines(keepends=True):
        mark = _FENCE.match(line)
        is_fence = bool(mark and (not fence or mark[1].startswith(fence)))
        if is_fence or fence:
            _blank(text, place, place + len(line.rstrip("\n")))
        if is_fence and mark is not None:
            fence = "" if fence else mark[1]
        place += len(line)
    return "".join(text)


def _blank(text: list[str], start: int, end: int) -> None:
    for place in range(start, end):
        if text[place] != "\n":
            text[place] = " "


_SENTENCE = re.compile(r"(?<=[.!?])[ \t]+(?=[A-ZÄÖÜ*\"(\[])|\n+")
_SEMICOLON = re.compile(r";[ \t]+")
# A full stop behind these ends no sentence.
_SHORT = re.compile(
    r"(?:\b(?:no|nr|mr|mrs|ms|dr|st|ca|approx|e\.g|i\.e|z\.\u00a0?B|bzw|tel|inkl|incl|vs|str)|(?<![\w.,])\d{1,2})\.$",
    re.IGNORECASE,
)


def sentences(prose: str) -> list[tuple[int, int]]:
    """Return where the sentences, list items and rows of tables of a prose begin and end."""
    found = []
    start = 0
    for gap in _SENTENCE.finditer(prose):
        if "\n" not in gap[0] and _SHORT.search(prose, start, gap.start()):
            continue
        if prose[start : gap.start()].strip():
            found.append((start, gap.start()))
        start = gap.end()
    if prose[start:].strip():
        found.append((start, len(prose)))
    return found


def clauses(prose: str) -> list[tuple[int, int]]:
    """Return the same, and sentences divided where a semicolon goes on to something else."""
    found = []
    for start, end in sentences(prose):
        place = start
        for gap in _SEMICOLON.finditer(prose, start, end):
            found.append((place, gap.start()))
            place = gap.end()
        found.append((place, end))
    return found
