"""Completes a text that arrives in pieces to valid JSON, even if it breaks off or is not JSON.

AG-UI clients parse a call's arguments when the call ends, so they must be JSON (RFC 8259), but a model may break off or
write something else. Each piece is passed on only as far as it is valid so far. What is missing at the end is added,
together with a marker, so that damaged arguments never look complete.
"""

from __future__ import annotations

import json
import math
import re
from enum import Enum, auto

from assistant.toolkit.bounded_json import MAX_DEPTH

# The marker: a member with this name (in a list: the last item), whose value is the text that was not passed on.
MARKER_NAME = "__not_json__"
# Characters of a number or a word (`true`, `false`, `null`), which is passed on once its end has arrived; longer ones
# are treated as invalid.
MAX_SCALAR = 4_000

_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR_LETTERS = re.compile(r"[-+.0-9A-Za-z]+")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_IN_STRING = re.compile(r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*')
_ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")


class _State(Enum):
    """What may come next."""

    VALUE = auto()
    ITEM_OR_END = auto()
    KEY = auto()
    KEY_OR_END = auto()
    IN_KEY = auto()
    COLON = auto()
    IN_TEXT = auto()
    COMMA_OR_END = auto()
    NOTHING = auto()


_TAKES_VALUE = (_State.VALUE, _State.ITEM_OR_END)
_TAKES_KEY = (_State.KEY, _State.KEY_OR_END)
_IN_QUOTES = (_State.IN_KEY, _State.IN_TEXT)
# The state in which an object or a list is empty, by the bracket that ends it.
_IF_EMPTY = {"}": _State.KEY_OR_END, "]": _State.ITEM_OR_END}
# What completes an unfinished member.
_REST_OF_MEMBER = {_State.IN_KEY: '":null', _State.COLON: ":null", _State.IN_TEXT: '"', _State.VALUE: "null"}


class JsonStream:
    """Completes one JSON text, in time linear in its length.

    `add` returns what can be passed on so far, `finish` the rest. Joined they are JSON, and equal to the text if that
    was JSON. Text after a complete document is left out. An empty text stays empty. White space alone becomes `{}`,
    since tools treat it as empty arguments.
    """

    __slots__ = ("_closers", "_held", "_is_begun", "_is_broken", "_left_out", "_state")

    def __init__(self) -> None:
        self._closers: list[str] = []
        self._held = ""
        self._is_begun = False
        self._is_broken = False
        self._left_out: list[str] = []
        self._state = _State.VALUE

    def add(self, piece: str) -> str:
        self._is_begun = self._is_begun or bool(piece)
        if self._is_broken:
            self._left_out.append(piece)
            return ""
        text = self._held + piece
        return text[: self._read(text, is_last=False)]

    def finish(self) -> str:
        text = self._held
        # Inside a list or an object the held text is incomplete, as the closing bracket is missing.
        end = 0 if self._closers else self._read(text, is_last=True)
        if self._state is _State.NOTHING or not self._is_begun:
            return text[:end]
        return text[:end] + self._rest(self._held + "".join(self._left_out))

    def _rest(self, unread: str) -> str:
        """Return what completes the text that was passed on, with the marker."""
        value = json.dumps(unread, ensure_ascii=False)
        member = f'"{MARKER_NAME}":{value}'
        if not self._closers:
            return '"' if self._state is _State.IN_TEXT else "{" + (member if unread else "") + "}"
        is_object = self._closers[-1] == "}"
        rest = _REST_OF_MEMBER.get(self._state, "") if is_object or self._state is _State.IN_TEXT else ""
        comma = "," if rest or self._state is _State.COMMA_OR_END else ""
        return rest + comma + (member if is_object else value) + "".join(reversed(self._closers))

    def _read(self, text: str, *, is_last: bool) -> int:
        """Return how many characters of a text are valid so far, up to the end of the last complete token.

        What follows is held back if it may be the beginning of a token, else left out.
        """
        at = 0
        while at < len(text):
            if self._state in _IN_QUOTES:
                at = _IN_STRING.match(text, at).end()  # type: ignore[union-attr]
                if at == len(text):
                    break
                if text[at] != '"':
                    self._is_broken = not _ESCAPE_BEGUN.fullmatch(text, at)
                    break
                at += 1
                if self._state is _State.IN_KEY:
                    self._state = _State.COLON
                else:
                    self._state = _State.COMMA_OR_END if self._closers else _State.NOTHING
                continue
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
            if at == len(text):
                break
            if self._read_punctuation(text[at]):
                at += 1
                continue
            scalar = _SCALAR_LETTERS.match(text, at) if self._state in _TAKES_VALUE else None
            if scalar is not None and scalar.end() == len(text) and not is_last and len(scalar[0]) < MAX_SCALAR:
                break
            if scalar is None or not _SCALAR.fullmatch(scalar[0]) or not _is_representable(scalar[0]):
                self._is_broken = True
                break
            at = scalar.end()
            self._state = _State.COMMA_OR_END if self._closers else _State.NOTHING
        if self._is_broken:
            self._held = ""
            self._left_out.append(text[at:])
        else:
            self._held = text[at:]
        return at

    def _read_punctuation(self, character: str) -> bool:
        """Read one punctuation character; False if it is not valid here."""
        state = self._state
        if character == '"' and state in _TAKES_VALUE:
            self._state = _State.IN_TEXT
        elif character == '"' and state in _TAKES_KEY:
            self._state = _State.IN_KEY
        elif character == ":" and state is _State.COLON:
            self._state = _State.VALUE
        elif character == "," and state is _State.COMMA_OR_END:
            self._state = _State.KEY if self._closers[-1] == "}" else _State.VALUE
        elif character in "{[" and state in _TAKES_VALUE and len(self._closers) < MAX_DEPTH:
            self._state = _State.KEY_OR_END if character == "{" else _State.ITEM_OR_END
            self._closers.append("}" if character == "{" else "]")
        elif self._closers[-1:] == [character] and state in (_State.COMMA_OR_END, _IF_EMPTY[character]):
            self._closers.pop()
            self._state = _State.COMMA_OR_END if self._closers else _State.NOTHING
        else:
            return False
        return True


def complete_json(text: str) -> str:
    """Return a complete text as `JsonStream` passes it on."""
    stream = JsonStream()
    return stream.add(text) + stream.finish()


def completion_of(begun: str) -> str:
    """Return what completes a text that `JsonStream` has passed on so far, with the marker."""
    stream = JsonStream()
    # Without the space, a number or a word at the end would be held back as incomplete.
    stream.add(f"{begun} ")
    return stream.finish() if begun else ""


def _is_representable(scalar: str) -> bool:
    """Return whether all parsers can read a word or a number: many refuse a document with a number beyond a double."""
    return scalar[0] in "tfn" or math.isfinite(float(scalar))
