"""Closes the marks that a text has open where it was cut: a stopped answer shows bold words, not asterisks."""

from __future__ import annotations

from markdown_it.token import Token

from assistant.markdown.block_splitter import split_blocks
from assistant.markdown.render import MAX_BLOCK_CHARACTERS, parse

_RUNS = "*_~"


def close_marks(block: str) -> str:
    """Return a Markdown block that was cut off so that its last line renders as it was meant.

    Emphasis, strikethrough and code that are open are closed, marks without a text are left out, and of a link without
    a whole address its text is left. Whatever else is open, such as a block of code, needs no mark. A block that
    would not show less of its marks is returned as it is.
    """
    if len(block) > MAX_BLOCK_CHARACTERS:
        return block
    before = parse(block)
    last = next((token for token in reversed(before) if token.type in {"inline", "fence", "code_block"}), None)
    cut = block.rstrip()
    if last is None or last.type != "inline" or not last.content:
        return block
    text = last.content.rstrip()
    if not cut.endswith(text):
        # Lines of a quotation or an item begin with marks that the parser has taken from its content.
        text = text.rpartition("\n")[2]
    if not cut.endswith(text):
        return block
    closed = cut[: len(cut) - len(text)] + _closed(text)
    return closed if len(_visible(parse(closed))) < len(_visible(before)) else block


def close_text(text: str) -> str:
    """Return a whole text that was cut off, with the marks of its last block closed."""
    *blocks, last = split_blocks(text) or [""]
    return "".join([*blocks, close_marks(last)])


def _visible(tokens: list[Token]) -> str:
    children = [child for token in tokens for child in token.children or [token]]
    return "".join(child.content for child in children if child.type != "inline")


def _closed(text: str) -> str:
    """Return the text with closing marks at its end."""
    opened: list[tuple[str, int]] = []  # a mark's character and how often it stands
    brackets: list[tuple[int, int]] = []  # where one begins, and how many marks were open
    at = 0
    while at < len(text):
        character = text[at]
        length = _run(text, at)
        after = at + length
        if character == "\\":
            after = at + 2
        elif character == "`":
            end = _end_of_code(text, after, length)
            if end < 0:
                text = _without_end(text, at) if after == len(text) else text + "`" * length
                break
            after = end
        elif character == "[":
            after = at + 1
            brackets.append((at, len(opened)))
        elif character == "]" and brackets:
            after = at + 1
            begin, depth = brackets.pop()
            if text[after : after + 1] == "(" and ")" not in text[after:]:
                is_image = text[begin - 1 : begin] == "!"
                text = text[: begin - is_image] + text[begin + 1 : at]
                break
            del opened[depth:]
        elif character in _RUNS:
            if after == len(text) and not any(mark == character for mark, _ in opened):
                text = _without_end(text, at)
                break
            _note_marks(opened, character, length, text[at - 1 : at] if at else " ", text[after : after + 1] or " ")
        else:
            after = at + 1
        at = after
    return text + "".join(mark * count for mark, count in reversed(opened))


def _run(text: str, at: int) -> int:
    """Return how often the character at a position stands there in a row."""
    end = at
    while end < len(text) and text[end] == text[at]:
        end += 1
    return end - at


def _end_of_code(text: str, at: int, length: int) -> int:
    """Return the position after the run of backticks that closes one of `length`; -1 without one."""
    while (at := text.find("`", at)) >= 0:
        found = _run(text, at)
        if found == length:
            return at + found
        at += found
    return -1


def _without_end(text: str, at: int) -> str:
    return text[:at].rstrip()


def _note_marks(opened: list[tuple[str, int]], character: str, length: int, before: str, after: str) -> None:
    """Close or open marks, by the spaces around them as CommonMark has it."""
    if character == "~" and length != 2:
        return
    inside_word = character == "_" and before.isalnum() and after.isalnum()
    if not before.isspace() and not inside_word:
        for index in range(len(opened) - 1, -1, -1):
            mark, count = opened[index]
            if mark == character:
                # What was opened within is no mark after all.
                del opened[index:]
                if count > length:
                    opened.append((mark, count - length))
                return
    if not after.isspace() and not inside_word:
        opened.append((character, length))
