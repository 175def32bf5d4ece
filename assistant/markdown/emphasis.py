"""Emphasis beside full-width punctuation, which CommonMark refuses: `**注意：**運費`."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import isPunctChar, isWhiteSpace
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

_CJK = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


class CjkStateInline(StateInline):
    """Scans marks of emphasis so that a CJK character on either side does not hinder them."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - the parser's names
        """Return whether the run of marks at `start` can open and close emphasis, and its length."""
        scanned = super().scanDelims(start, canSplitWord)
        end = start + scanned.length
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < self.posMax else " "
        if not (_CJK.match(before) or _CJK.match(after)):
            return scanned
        left, right = not isWhiteSpace(ord(after)), not isWhiteSpace(ord(before))
        if canSplitWord:
            return Scanned(left, right, scanned.length)
        return Scanned(
            left and (not right or isPunctChar(before)), right and (not left or isPunctChar(after)), scanned.length
        )


class CjkParserInline(ParserInline):
    """The parser's own, with another state."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """Parse the text of one paragraph, heading or cell into `tokens`."""
        state = CjkStateInline(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens
