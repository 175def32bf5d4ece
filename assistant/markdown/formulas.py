r"""Formulas in TeX: `$…$` and `\(…\)` within a line, `$$…$$` and `\[…\]` as lines of their own.

The renderer marks them and keeps their source as it is. `static/assistant/js/formula.js` turns it into MathML.
When a dollar sign is one of currency: https://pandoc.org/MANUAL.html#math.
"""

from __future__ import annotations

import html
import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

# Longer ones are shown as text. `static/assistant/js/draw/formulas.js` has the same numbers and patterns.
MAX_FORMULA_CHARACTERS = 2_000
_DOLLAR = re.compile(
    r"(?<![A-Za-z0-9_$])\$(?![\s$])((?:[^$\\\n]|\\[^\n]){1,500})(?<!\s)\$(?![A-Za-z0-9_$])",
)
_CLOSERS = {"$$": "$$", r"\(": r"\)", r"\[": r"\]"}
_OPENING = re.compile(r" {0,3}(\$\$|\\\[)")


def formula_closer(line: str) -> str:
    """Return what ends the formula that a line begins and does not end: `$$`, `\\]`, or nothing if it begins none."""
    found = _OPENING.match(line)
    closer = _CLOSERS[found[1]] if found else ""
    return closer if found and closer not in line[found.end() :] else ""


def _inline(state: StateInline, silent: bool) -> bool:
    start = state.pos
    opener = state.src[start : start + 2]
    if opener in _CLOSERS:
        limit = min(start + MAX_FORMULA_CHARACTERS + 4, state.posMax)
        end = state.src.find(_CLOSERS[opener], start + 2, limit)
        source = state.src[start + 2 : end] if end >= 0 else ""
        end += 2
    else:
        found = _DOLLAR.match(state.src, start, state.posMax) if opener.startswith("$") else None
        source, end = (found[1], found.end()) if found else ("", 0)
    if not source.strip():
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.meta = source.strip(), {"is_display": opener in ("$$", r"\[")}
    state.pos = end
    return True


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Make lines up to the end of a formula one paragraph. After a blank line it is no formula, as in TeX."""
    closer = formula_closer(state.getLines(start, start + 1, state.blkIndent, keepLastLF=False))
    indent = min(state.blkIndent, state.sCount[start])  # less than the block's own: the line may end a list
    if not closer or state.is_code_block(start) or indent < 0:
        return False
    for number in range(start + 1, end):
        if state.isEmpty(number) or state.sCount[number] < indent:
            return False
        text = state.getLines(start, number + 1, state.blkIndent, keepLastLF=False).strip()
        if len(text) > MAX_FORMULA_CHARACTERS:
            return False
        if closer in text[2:]:
            state.line = number + 1
            if not silent:
                push_paragraph(state, text, start, number + 1)
            return True
    return False


def push_paragraph(state: StateBlock, text: str, start: int, end: int) -> Token:
    """Add a paragraph with the text of some lines; return the token that opens it."""
    opened = state.push("paragraph_open", "p", 1)
    opened.map = [start, end]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = text, [start, end], []
    state.push("paragraph_close", "p", -1)
    return opened


def _render(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    token = tokens[index]
    kind = "formula display" if token.meta["is_display"] else "formula"
    return f'<span class="{kind}">{html.escape(token.content)}</span>'


def add_formulas(parser: MarkdownIt) -> None:
    """Make a parser know formulas."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("fence", "formula", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.add_render_rule("formula", _render)
