"""Patterns for the lines with which Markdown blocks start, continue or end."""

from __future__ import annotations

import re

FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
QUOTE = re.compile(r" {0,3}>")
ITEM = re.compile(r"( {0,3})([-+*]|\d{1,9}[.)])([ \t]+(?=\S)|[ \t]*$)")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
DELIMITER = re.compile(r" {0,3}[-:|][-:| \t]*$")
PARAGRAPH_START = re.compile(r"[^\W\d_]|[*_\"'(“‘$&`](?![*_`~\s])")
UNDECIDED = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)]?)?[ \t]*")
CODE_INDENT = 4


def indentation(text: str) -> int:
    """Return the columns of white space before the text, with tab stops at every fourth column."""
    column = 0
    for character in text:
        if character == " ":
            column += 1
        elif character == "\t":
            column += 4 - column % 4
        else:
            break
    return column


def starts_block(text: str) -> bool:
    """Return whether the line starts a block other than a list, whatever precedes it."""
    return bool(FENCE.match(text) or HEADING.match(text) or RULE.match(text) or QUOTE.match(text))
