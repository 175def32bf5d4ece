"""Cleans text for databases, encoders and providers, and recognises lazy text."""

from __future__ import annotations

import re

# PostgreSQL cannot store NUL, and UTF-8 cannot encode lone surrogates.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD."""
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)


def is_lazy(value: object) -> bool:
    """Whether a value is one of Django's lazy texts, which cannot be read before all apps are loaded."""
    return type(value).__name__ == "__proxy__"
