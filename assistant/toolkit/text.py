"""Text that every database, encoder and provider can hold."""

from __future__ import annotations

import re

# PostgreSQL stores no NUL, and no encoding can carry half of a surrogate pair.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD."""
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)
