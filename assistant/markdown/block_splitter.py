"""Splits streamed Markdown into blocks that render alone as they would within the whole text.

Decisions are made at the end of a line, so that the chunks in which text arrives do not matter. If a line alone does
not determine which block is open, the block so far is parsed; if that would take too long (hostile text), the rest of
the text becomes one block. Rules: https://spec.commonmark.org/0.31.2/ and GitHub's tables.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from markdown_it import MarkdownIt

from assistant.markdown.footnotes import add_footnotes
from assistant.markdown.formulas import MAX_FORMULA_CHARACTERS, add_formulas, formula_closer

# The lines with which blocks start, continue or end.
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

# An indentation that no line reaches.
_UNREACHABLE_INDENT = 1_000_000
# A block that is longer is not parsed to find out what is open: the rest of the text becomes one block.
MAX_PARSED_CHARACTERS = 8_000
# How often a short block is parsed; after that, if it has not doubled in size since the last time, the rest of the
# text becomes one block.
_FREE_PARSES, _FREE_CHARACTERS = 8, 2_000
_LOOK_AHEAD_CHARACTERS = 64
# What is folded away ends with the rest of the text if it is longer.
MAX_DETAILS_LINES = 400
_DETAILS = re.compile(r"(?:[ \t]*\n)* {0,3}<details>", re.IGNORECASE)
_DETAILS_END = "</details>"

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable("inline")
add_formulas(_PARSER)
add_footnotes(_PARSER)


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


def is_details(text: str) -> bool:
    """Return whether a block, or a line that begins one, is folded away: `<details>`."""
    return bool(_DETAILS.match(text))


class _Open(Enum):
    """The kind of block that is open after the last line."""

    NOTHING = auto()
    PARAGRAPH = auto()  # or a table: both end at a blank line
    QUOTE = auto()
    LIST = auto()
    INDENTED = auto()
    FENCE = auto()
    DETAILS = auto()  # what is folded away, with all its blocks
    FORMULA = auto()  # of several lines; text after all if a blank line comes before its end
    REST = auto()  # everything to the end is one block


class BlockSplitter:
    """Receives text in chunks of any size and returns the source of each Markdown block when it is closed."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._carriage_return = ""
        self._closed: list[str] = []
        self._is_decided = False  # it is known whether the incomplete line closes the open block
        self._start([])

    def feed(self, delta: str) -> list[str]:
        """Add text; return the blocks that it closes."""
        delta = self._carriage_return + delta
        self._carriage_return = "\r" if delta.endswith("\r") else ""
        self._add_text(delta.removesuffix("\r") if self._carriage_return else delta)
        return self._take_closed()

    def finish(self) -> list[str]:
        """End the text; return the remaining blocks."""
        self._add_text("\n" if self._carriage_return else "")
        self._carriage_return = ""
        if rest := "".join(self._pieces):
            self._pieces = []
            self._add_line(rest)
        self._close()
        return self._take_closed()

    def _add_text(self, text: str) -> None:
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if "\n" not in text:
            if text:
                self._pieces.append(text)
                self._look_ahead()
            return
        first, *lines = text.split("\n")
        lines.insert(0, "".join([*self._pieces, first]))
        last = lines.pop()
        self._pieces = [last] if last else []
        for line in lines:
            self._add_line(line + "\n")
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Close a list or indented code as soon as the beginning of the next line shows that it has ended."""
        is_open = self._is_after_blank and self._open in {_Open.LIST, _Open.INDENTED}
        if not is_open or self._is_decided or not self._pieces:
            return
        start = "".join(self._pieces)[:_LOOK_AHEAD_CHARACTERS]
        if UNDECIDED.fullmatch(start) and len(start) < _LOOK_AHEAD_CHARACTERS:
            return
        self._is_decided = True
        is_list = self._open is _Open.LIST
        indent = self._content_indent if is_list else CODE_INDENT
        if indentation(start) < indent and not (is_list and ITEM.match(start)):
            self._close()

    def _take_closed(self) -> list[str]:
        closed, self._closed = self._closed, []
        return closed

    def _start(self, lines: list[str]) -> None:
        self._lines = lines
        self._open = _Open.NOTHING
        self._closer = ""  # of the fence or the formula
        self._content_indent = 0
        self._is_after_blank = False
        self._is_table = False
        self._is_text = False  # in a list: a paragraph is open, which an unindented line continues
        self._is_bare = False  # the last line is a list marker without text
        self._parses = self._parsed_size = 0

    def _close(self) -> None:
        block = "".join(self._lines)
        if block.strip():
            self._closed.append(block)
            self._start([])

    def _add_line(self, line: str) -> None:
        self._is_decided = False
        text = line.rstrip("\n")
        if self._open is _Open.FENCE:
            self._in_fence(line, text)
        elif self._open is _Open.DETAILS:
            self._in_details(line, text)
        elif self._open is _Open.REST:
            self._lines.append(line)
        elif not text.strip(" \t"):
            self._add_blank(line)
        else:
            self._add_nonblank(line, text)
            self._is_after_blank = False

    def _in_fence(self, line: str, text: str) -> None:
        self._lines.append(line)
        mark = text.strip(" \t")
        if mark.startswith(self._closer) and not mark.strip(self._closer[0]) and indentation(text) < CODE_INDENT:
            self._close()

    def _in_details(self, line: str, text: str) -> None:
        self._lines.append(line)
        if _DETAILS_END in text.lower():
            self._close()
        elif len(self._lines) > MAX_DETAILS_LINES:
            self._open = _Open.REST

    def _in_formula(self, line: str, text: str) -> None:
        self._lines.append(line)
        if sum(map(len, self._lines)) > MAX_FORMULA_CHARACTERS:
            self._parse_open_block()
        elif self._closer in text:
            self._close()

    def _add_blank(self, line: str) -> None:
        if self._open is _Open.FORMULA:
            self._parse_open_block()
        self._lines.append(line)
        self._is_after_blank = True
        self._is_text = False
        if self._is_bare:
            self._content_indent = _UNREACHABLE_INDENT  # an item may begin with one blank line, not with two
        if self._open in {_Open.PARAGRAPH, _Open.QUOTE}:
            self._close()

    def _add_nonblank(self, line: str, text: str) -> None:
        is_list = self._open is _Open.LIST and not self._is_after_blank and indentation(text) < self._content_indent
        closer = formula_closer(text) if is_list or self._open in {_Open.PARAGRAPH, _Open.QUOTE} else ""
        if closer:
            # Together with what is before it: it is a formula only if its end comes.
            self._lines.append(line)
            self._open, self._closer = _Open.FORMULA, closer
        elif self._open is _Open.PARAGRAPH:
            self._in_paragraph(line, text)
        elif self._open is _Open.QUOTE:
            self._in_quote(line, text)
        elif self._open is _Open.LIST:
            self._in_list(line, text)
        elif self._open is _Open.FORMULA:
            self._in_formula(line, text)
        elif self._open is _Open.INDENTED and indentation(text) >= CODE_INDENT:
            self._lines.append(line)
        else:
            self._begin(line, text)

    def _begin(self, line: str, text: str) -> None:
        """Close the open block and start a new one with this line."""
        self._close()
        self._lines.append(line)
        if indentation(text) >= CODE_INDENT:
            self._open = _Open.INDENTED
        elif fence := FENCE.match(text):
            self._open, self._closer = _Open.FENCE, fence[1]
        elif HEADING.match(text) or RULE.match(text):
            self._close()
        elif QUOTE.match(text):
            self._open = _Open.QUOTE
        elif item := ITEM.match(text):
            self._item(item, text)
        elif closer := formula_closer(text):
            self._open, self._closer = _Open.FORMULA, closer
        elif is_details(text):
            self._open = _Open.DETAILS
            if _DETAILS_END in text.lower():
                self._close()
        else:
            self._open = _Open.PARAGRAPH

    def _item(self, item: re.Match[str], text: str) -> None:
        self._open = _Open.LIST
        rest, marker = text[item.end() :], item.end(2)
        gap = indentation(" " * marker + item[3]) - marker if rest else 1
        self._content_indent = marker + (gap if gap <= CODE_INDENT else 1)
        self._is_text = gap <= CODE_INDENT and bool(PARAGRAPH_START.match(rest))
        self._is_bare = not rest

    def _in_paragraph(self, line: str, text: str) -> None:
        item = ITEM.match(text)
        interrupts = item and text[item.end() :] and (not item[2][0].isdigit() or item[2][:-1] == "1")
        if (starts_block(text) and not UNDERLINE.match(text)) or interrupts:
            self._begin(line, text)
        else:
            is_unsure = bool(UNDERLINE.match(text)) or (self._is_table and (item or indentation(text) >= CODE_INDENT))
            self._is_table = self._is_table or bool(DELIMITER.match(text))
            self._lines.append(line)
            if is_unsure:
                self._parse_open_block()

    def _in_quote(self, line: str, text: str) -> None:
        if QUOTE.match(text):
            self._lines.append(line)
        elif starts_block(text) or ITEM.match(text):
            self._begin(line, text)
        else:
            self._lines.append(line)
            self._parse_open_block()

    def _in_list(self, line: str, text: str) -> None:
        item = ITEM.match(text)
        if indentation(text) >= self._content_indent:
            self._lines.append(line)
            self._is_text = self._is_text and bool(PARAGRAPH_START.match(text.strip()))
            self._is_bare = False
        elif RULE.match(text) or (starts_block(text) and not item):
            self._begin(line, text)
        elif item:
            self._lines.append(line)
            self._item(item, text)
        elif self._is_after_blank:
            self._begin(line, text)
        else:
            self._lines.append(line)
            if not self._is_text:
                self._parse_open_block()

    def _parse_open_block(self) -> None:
        """Parse the open block to find out what is open after its last line, unless that would take too long."""
        source = "".join(self._lines)
        is_free = self._parses < _FREE_PARSES and len(source) <= _FREE_CHARACTERS
        if len(source) > MAX_PARSED_CHARACTERS or not (is_free or len(source) >= 2 * self._parsed_size):
            self._open = _Open.REST
            return
        self._parses += 1
        self._parsed_size = len(source)
        self._restore_state(source)

    def _restore_state(self, source: str) -> None:
        tokens = _PARSER.parse(source)
        tops = [token for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
        if not tops or tops[-1].map is None:
            return
        last, first_line = tops[-1], tops[-1].map[0]
        lines, parsed_size, parses = self._lines, self._parsed_size, self._parses
        self._lines = lines[:first_line]
        self._close()
        self._start([*self._lines, *lines[first_line:]])
        self._parsed_size, self._parses = parsed_size, parses
        kind = {"paragraph_open": _Open.PARAGRAPH, "table_open": _Open.PARAGRAPH, "blockquote_open": _Open.QUOTE}
        if last.type in {"bullet_list_open", "ordered_list_open"}:
            items = [one.map[0] for one in tokens if one.type == "list_item_open" and one.level == 1 and one.map]
            text = lines[items[-1]].rstrip("\n")
            if found := ITEM.match(text):
                self._item(found, text)
                self._is_text = False
        elif last.type == "fence":
            self._open = _Open.REST
        elif last.type == "code_block":
            self._open = _Open.INDENTED
        elif last.type in kind:
            self._open = kind[last.type]
            self._is_table = last.type == "table_open"
        else:
            self._close()


def split_blocks(text: str) -> list[str]:
    """Return the blocks of a whole text, the same as those of a stream."""
    splitter = BlockSplitter()
    return [*splitter.feed(text), *splitter.finish()]
