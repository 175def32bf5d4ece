"""Colours code of any length, in pieces, so that no text holds the processor for long."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

try:
    from pygments.lexers import get_lexer_by_name
    from pygments.token import STANDARD_TYPES
except ModuleNotFoundError:  # without the extra `highlighting`
    CAN_HIGHLIGHT = False
    STANDARD_TYPES = {}  # type: ignore[misc]  # the package is absent
else:
    CAN_HIGHLIGHT = True

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# Some lexers take time with the square of the text's length, in one step.
MAX_PIECE_CHARACTERS = 4_000
# Processor time, so that code keeps its colours on a busy machine. The densest code takes 0.04 s a piece.
PIECE_SECONDS = 0.15
BLOCK_SECONDS = 1.5
CODE_CLASS_PREFIX = "hl-"
CODE_CLASSES = frozenset(CODE_CLASS_PREFIX + name for name in STANDARD_TYPES.values() if name)

# Languages whose lexers are fast on most input; others are shown without colours.
LANGUAGES = frozenset(
    """bash c c++ console cpp css dart diff docker dockerfile elixir go golang graphql haskell html http ini
    java javascript js json jsx julia kotlin less lua make makefile markdown md mysql nginx objc perl php
    postgresql powershell properties protobuf ps1 py python r rb ruby rust scala scss sh shell sql swift toml ts
    tsx typescript xml yaml yml zsh""".split()  # noqa: SIM905 - a list literal of these would fill a screen
)

# Text on which some lexers take time with the cube of its length, in one step during which no other thread runs.
_NO_CODE = re.compile(r"[\w\s*]{300}")


def highlight(code: str, language: str) -> str:
    """Return the code as HTML, with spans that have classes. What takes too long stays without colours.

    So does all code without Pygments, which the extra `highlighting` installs.
    """
    if not CAN_HIGHLIGHT or language not in LANGUAGES:
        return html.escape(code)
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    end = time.thread_time() + BLOCK_SECONDS
    return "".join(_colour(piece, lexer, end) for piece in _pieces(code))


def _pieces(code: str) -> Iterator[str]:
    """Cut the code where a piece reads the same alone: before an unindented line after an empty one, else at a line."""
    start = 0
    while len(code) - start > MAX_PIECE_CHARACTERS:
        window = code[start : start + MAX_PIECE_CHARACTERS]
        breaks = [match.end() for match in re.finditer(r"\n[ \t]*\n(?=\S)", window)]
        cut = breaks[-1] if breaks else window.rfind("\n") + 1 or MAX_PIECE_CHARACTERS
        yield code[start : start + cut]
        start += cut
    yield code[start:]


def _colour(code: str, lexer: Lexer, end: float) -> str:
    """`end`: when the whole code must be done, by `time.thread_time`."""
    if _NO_CODE.search(code):
        return html.escape(code)
    parts: list[str] = []
    deadline = min(time.thread_time() + PIECE_SECONDS, end)
    for kind, value in lexer.get_tokens(code):
        if time.thread_time() > deadline:  # hostile text
            return html.escape(code)
        name, text = STANDARD_TYPES.get(kind, ""), html.escape(value)
        parts.append(f'<span class="{CODE_CLASS_PREFIX}{name}">{text}</span>' if name else text)
    return "".join(parts)
