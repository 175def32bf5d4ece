"""Joins pieces of text that a provider cut inside a character."""

from __future__ import annotations

import re

# Half a surrogate pair comes as such from JSON escapes; a byte of a cut character comes as U+DC80 to U+DCFF
# (Python's "surrogateescape"). Either may be at the end of one piece with its other half at the start of the next.
_BYTES = re.compile("[\udc80-\udcff]+")
_UNFINISHED = re.compile("(?:[\ud800-\udbff]|[\udc80-\udcff]+)$")
# PostgreSQL keeps no NUL, and no encoding a lone half.
_LONE = re.compile("[\x00\ud800-\udfff]")


class SplitCharacterJoiner:
    """One text that arrives in pieces.

    `add` gives what can be shown so far, without halves of characters. Halves that never meet, and NUL, become U+FFFD,
    or, with `exact`, a backslash escape that no JSON reader takes for text: damaged arguments must not look whole.
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
        """What was held back and has not been completed."""
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
