"""Cleans text for databases, encoders and providers, and values that people copy into settings."""

from __future__ import annotations

import re

from assistant.toolkit.translation import gettext, gettext_noop

# PostgreSQL cannot store NUL, and UTF-8 cannot encode lone surrogates.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD."""
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)


def is_lazy(value: object) -> bool:
    """Whether a value is one of Django's lazy texts, which cannot be read before all apps are loaded."""
    return type(value).__name__ == "__proxy__"


# White space, and characters without width that pages and chats add.
_AROUND = r"[\s\u200b-\u200f\u2060\ufeff]+"
_EDGES = re.compile(rf"\A{_AROUND}|{_AROUND}\Z")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’"}
_NAMES = {
    "\n": gettext_noop("a line end"),
    "\r": gettext_noop("a line end"),
    "\t": gettext_noop("a tab"),
    " ": gettext_noop("a space"),
}


def stripped(text: str) -> str:
    """Return a value without the white space, invisible characters and pairs of quotes around it."""
    while True:
        inner = _EDGES.sub("", text)
        if len(inner) > 1 and _QUOTES.get(inner[0]) == inner[-1]:
            inner = inner[1:-1]
        if inner == text:
            return text
        text = inner


def trimmed(text: str) -> str:
    """Return a value without the white space and invisible characters around it; quotes may belong to it."""
    return _EDGES.sub("", text)


def odd_character(text: str, odd: re.Pattern[str]) -> str:
    """Return what the first character of a value is that it must not have, and where; "" if there is none.

    Args:
        odd: matches one such character.
    """
    found = odd.search(text)
    if found is None:
        return ""
    known = _NAMES.get(found[0])
    name = gettext(known) if known else gettext("the character %(code)s") % {"code": f"U+{ord(found[0]):04X}"}
    return gettext("%(character)s at position %(number)d") % {"character": name, "number": found.start() + 1}
