"""Characters that a reader cannot see and a model can."""

from __future__ import annotations

import re

# Zero-width marks, direction overrides, tags, and variation selectors in a row, which can spell out whole sentences.
# Joiners within words are letters of some languages, and one selector follows an emoji.
INVISIBLE = re.compile(
    "[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]+"
    "|[\u200c\u200d]{2,}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}"
)


def without_invisible(text: str) -> str:
    """Return a text without what nobody can see in it."""
    return text if text.isascii() else INVISIBLE.sub("", text)
