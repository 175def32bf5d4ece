"""Takes reasoning out of the text of models that write it there between tags.

`<think>…</think>` outside of code is reasoning, wherever a server leaves it in the text. At the beginning of an answer
it is passed on as it arrives; later on it is held back until it is closed, because the text may only speak of the tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

# Characters of a passage that begins like reasoning within a text; a longer one is text.
MAX_HELD = 16_384
# After this many tags the rest of an answer is text, because examining a tag takes time proportional to the text before
# it.
MAX_TAGS = 100
_THINK = "<think>"
# Other tags of reasoning, at the beginning of an answer only: gpt-oss on Bedrock, Gemini, Nova.
_OTHERS = ("<reasoning>", "<thought>", "<thinking>")
_ENDS = {tag: f"</{tag[1:]}" for tag in (_THINK, *_OTHERS)}
# Tokens with which templates end an answer, and which servers leave at the end of the text.
_STOPS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end|>",
    "<|return|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
    "</s>",
)
# The most characters of such tokens that are held back; of a longer repetition, one token is.
_MAX_STOPS = 200
_REPEATED_STOPS = re.compile(rf"(?:(?:{'|'.join(map(re.escape, _STOPS))})\s*+)*+")
_KNOWN = re.compile("|".join(map(re.escape, (*_ENDS, *_STOPS))))
_LONGEST_TAG = max(map(len, (*_STOPS, *_ENDS)))
Kind = Literal["text", "reasoning"]
Part = tuple[Kind, str]


class TextTags:
    """Splits the text of one answer: `add` its pieces, and `finish` it.

    Both yield parts: ("text", ...) and ("reasoning", ...). While `is_idle`, a piece without "<" is only text, and need
    not be added.

    Args:
        shown: returns the text of the answer so far.
        begins_inside: the answer begins with reasoning whose `<think>` is part of the prompt. If no `</think>` follows,
            and the answer is not cut off, what was passed on as reasoning is yielded as text at the end.
    """

    def __init__(self, shown: Callable[[], str], *, begins_inside: bool = False) -> None:
        self.is_idle = not begins_inside
        self._shown = shown
        self._held = ""
        self._more: list[str] = []  # pieces after `_held` in which no tag can end
        self._size = 0
        self._open = _THINK if begins_inside else ""  # the tag whose end is awaited
        self._is_streaming = begins_inside  # what it encloses is passed on as it arrives
        self._may_be_text: list[str] | None = [] if begins_inside else None
        self._skips_space = False
        self._found_tags = 0
        self._has_begun = False  # the answer, with more than tags

    def add(self, text: str) -> Iterator[Part]:
        """Add a piece of text, and yield what is certain by now."""
        if self._found_tags > MAX_TAGS and not self._open:
            self.is_idle = True
            yield from _nonempty("text", text)
            return
        self._more.append(text)
        self._size += len(text)
        is_waiting = self._open and not self._is_streaming and ">" not in text
        if is_waiting and self._size <= MAX_HELD:
            return
        self._held, self._more = self._held + "".join(self._more), []
        while self._held:
            before = len(self._held), self._open
            yield from self._inside() if self._open else self._outside()
            if (len(self._held), self._open) == before:
                break
        self._size = len(self._held)
        self.is_idle = not (self._held or self._open or self._skips_space)

    def expect_text(self) -> None:
        """Note that the server separates reasoning from the text: the answer does not begin with it."""
        if self._may_be_text == [] and not self._held:
            self._may_be_text, self._open, self._is_streaming, self.is_idle = None, "", False, True

    def finish(self, *, is_cut: bool = False) -> Iterator[Part]:
        """Yield what was held back, since the text ends here.

        Args:
            is_cut: whether the answer has no end, or is only calls, so that there need not be a text.
        """
        held, self._held, self._more = self._held + "".join(self._more), "", []
        self.is_idle = True
        tag, self._open = self._open, ""
        if tag and self._is_streaming:
            yield from _nonempty("reasoning", held)
            if self._may_be_text is not None and not is_cut:
                yield from _nonempty("text", "".join((*self._may_be_text, held)).lstrip())
        else:
            yield from _nonempty("text", tag + held if tag else self._without_stops(held))

    def _without_stops(self, text: str) -> str:
        """Return the end of the answer without the tokens that end it; `</s>` also ends text that is struck out."""
        found = text.find("<")
        if found < 0 or _after_stops(text, found) < len(text) or ("</s>" in text and "<s>" in self._shown() + text):
            return text
        return text[:found].rstrip()

    def _outside(self) -> Iterator[Part]:
        if self._skips_space:  # models separate their reasoning from the answer by empty lines
            self._held = self._held.lstrip()
            self._skips_space = not self._held
        start = self._next_tag(0)
        is_first = start >= 0 and not (self._found_tags or self._has_begun)
        is_first = is_first and not (self._shown() + self._held[:start]).strip()
        self._has_begun = self._has_begun or (start >= 0 and not is_first)
        while start >= 0:
            tags = (_THINK, *_OTHERS) if is_first else (_THINK,)
            tag = next((tag for tag in tags if self._held.startswith(tag, start)), "")
            self._found_tags += bool(tag)
            if self._found_tags > MAX_TAGS:
                break
            if tag and not self._is_code(self._held[:start]):
                before, self._held = self._held[:start], self._held[start + len(tag) :]
                yield from _nonempty("text", before)
                self._open = tag
                self._is_streaming = not self._shown().strip()
                return
            after = _after_stops(self._held, start)
            if self._may_be_cut(after, (*tags, *_STOPS)):  # the rest of a tag may follow, or nothing
                text = self._held[:start]
                if after - start > _MAX_STOPS:  # a model that repeats them without end
                    stop = next(stop for stop in _STOPS if self._held.startswith(stop, start))
                    self._held = stop + self._held[after:]
                else:
                    self._held = self._held[start:]
                yield from _nonempty("text", text)
                return
            is_first = False
            start = self._next_tag(max(after, start + 1))
        text, self._held = self._held, ""
        yield from _nonempty("text", text)

    def _next_tag(self, at: int) -> int:
        """Return the next position of a tag, or of a part of one at the end of the text; -1 if there is none."""
        at_end = self._held.find("<", max(at, len(self._held) - _LONGEST_TAG))
        found = _KNOWN.search(self._held, at, len(self._held) if at_end < 0 else at_end)
        return found.start() if found is not None else at_end

    def _may_be_cut(self, at: int, tags: Iterable[str]) -> bool:
        """Return whether the text ends, from a position on, within one of the tags."""
        if len(self._held) - at > _LONGEST_TAG:
            return False
        rest = self._held[at:]
        return any(tag.startswith(rest) for tag in tags)

    def _inside(self) -> Iterator[Part]:
        tag, end = self._open, _ENDS[self._open]
        if self._may_be_text == [] and not self._skip_repeated_opening():
            return
        at = self._held.find(end)
        if at >= 0:
            inner, self._held = self._held[:at], self._held[at + len(end) :]
            self._open = ""
            if self._is_streaming or len(inner) <= MAX_HELD:
                yield from _nonempty("reasoning", inner)
                self._skips_space, self._may_be_text = True, None
            else:
                yield from _nonempty("text", tag + inner + end)
        elif self._is_streaming:
            kept = next((n for n in range(len(end) - 1, 0, -1) if self._held.endswith(end[:n])), 0)
            inner = self._held[: len(self._held) - kept]
            self._held = self._held[len(inner) :]
            if self._may_be_text is not None and inner:
                self._may_be_text.append(inner)
            yield from _nonempty("reasoning", inner)
        elif len(self._held) > MAX_HELD:
            text, self._held, self._open = tag + self._held, "", ""
            yield from _nonempty("text", text)

    def _skip_repeated_opening(self) -> bool:
        """Remove a `<think>` that the model has written although it was given; returns whether that is certain yet."""
        begun = self._held.lstrip()
        if len(begun) < len(_THINK) and _THINK.startswith(begun):
            return False
        self._held = begun.removeprefix(_THINK).lstrip()
        return bool(self._held)

    def _is_code(self, more: str) -> bool:
        """Return whether the position after the text so far and `more` is inside a block or a span of code."""
        text = self._shown() + more
        if text.count("```") % 2:
            return True
        return text.rpartition("\n")[2].replace("```", "").count("`") % 2 == 1


def _after_stops(text: str, start: int) -> int:
    """Return the position after the tokens that end an answer, from a position of a text on."""
    return _REPEATED_STOPS.match(text, start).end()  # type: ignore[union-attr]


def _nonempty(kind: Kind, text: str) -> Iterator[Part]:
    if text:
        yield kind, text
