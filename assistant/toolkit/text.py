"""Cleans text for databases, encoders and providers."""

from __future__ import annotations

import re

# PostgreSQL cannot store NUL, and UTF-8 cannot encode lone surrogates.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD."""
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)
