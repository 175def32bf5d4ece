"""Footnotes: `[^1]` in a text, and `[^1]: …` as a paragraph of its own, where the model wrote it.

They are no links: a note can be in a block that is not written yet, and several answers of a page have a note 1.
"""

from __future__ import annotations

import html
import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from assistant.markdown.formulas import push_paragraph

# A number or a word of three letters and more, so that `[^a-z]` stays. draw/footnotes.js has the same.
_LABEL = r"\[\^(\d{1,3}|[A-Za-z][A-Za-z0-9]{2,29})\]"
_REFERENCE = re.compile(_LABEL)
_DEFINITION = re.compile(rf" {{0,3}}{_LABEL}:[ \t]+\S")


def _inline(state: StateInline, silent: bool) -> bool:
    found = _REFERENCE.match(state.src, state.pos, state.posMax)
    if not found:
        return False
    end = found.end()
    is_definition = state.pos == 0 and bool(_DEFINITION.match(state.src))
    if not silent:
        state.push("footnote", "", 0).content = found[1]
    state.pos = end + 1 if is_definition else end
    return True


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    first = state.getLines(start, start + 1, state.blkIndent, keepLastLF=False)
    if state.is_code_block(start) or not _DEFINITION.match(first):
        return False
    if silent:
        return True
    interrupting = state.md.block.ruler.getRules("paragraph")
    parent, state.parentType = state.parentType, "paragraph"
    after = start + 1
    while after < end and not state.isEmpty(after):
        is_indented = state.is_code_block(after)
        if not is_indented and any(rule(state, after, end, True) for rule in interrupting):
            break
        after += 1
    state.line, state.parentType = after, parent
    text = state.getLines(start, after, state.blkIndent, keepLastLF=False).strip()
    push_paragraph(state, text, start, after).attrSet("class", "footnote")
    return True


def _render(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    return f"<sup>{html.escape(tokens[index].content)}</sup>"


def add_footnotes(parser: MarkdownIt) -> None:
    """Make a parser know footnotes."""
    parser.inline.ruler.before("link", "footnote", _inline)
    parser.block.ruler.before("reference", "footnote", _block, {"alt": ["paragraph", "reference"]})
    parser.add_render_rule("footnote", _render)
