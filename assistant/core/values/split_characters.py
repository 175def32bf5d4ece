"""Joins pieces of text that a provider split inside a character."""

from __future__ import annotations

import re

# Bytes of a split UTF-8 character, which Python's "surrogateescape" decodes to U+DC80 to U+DCFF.
_BYTES = re.compile("[\udc80-\udcff]+")
# Such bytes, or half of a surrogate pair (from JSON escapes), at the end of a piece; the next piece may have the rest.
_UNFINISHED = re.compile("(?:[\ud800-\udbff]|[\udc80-\udcff]+)$")
# PostgreSQL cannot store NUL, and UTF-8 cannot encode lone surrogates.
_LONE = re.compile("[\x00\ud800-\udfff]")


class SplitCharacterJoiner:
    """Joins one text that arrives in pieces.

    `add` returns what is complete so far, and holds back a split character at the end. Lone surrogates and NUL become
    U+FFFD or, with `exact`, a backslash escape that is not valid JSON: damaged arguments must not look complete.
    """

    __slots__ = ("_exact", "_held")

    def __init__(self, *, exact: bool = False) -> None:
        self._exact = exact
        self._held = ""

    def add(self, piece: str) -> str:
        if not self._held and ((piece.isascii() and "\x00" not in piece) or not _LONE.search(piece)):
            return piece
        text = _join_halves(self._held + piece)
        unfinished = _UNFINISHED.search(text)
        self._held = unfinished[0] if unfinished else ""
        return self._mark_lone(text[: unfinished.start()] if unfinished else text)

    def finish(self) -> str:
        """Return what was held back and not completed."""
        held, self._held = self._held, ""
        return self._mark_lone(held)

    def _mark_lone(self, text: str) -> str:
        return _LONE.sub(lambda half: f"\\x{ord(half[0]):x}" if self._exact else "\ufffd", text)


def _join_halves(text: str) -> str:
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _BYTES.sub(_decode, paired)


def _decode(run: re.Match[str]) -> str:
    try:
        return run[0].encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError:
        return run[0]
