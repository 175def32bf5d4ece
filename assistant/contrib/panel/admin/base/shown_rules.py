"""The rules that decided about tools, which are stored in English, in the language of a page."""

from __future__ import annotations

import re

from django.utils.translation import gettext

from assistant.services.toolpolicy.rules import BLOCKED, LACKS_PERMISSION


def _pattern(sentence: str) -> re.Pattern[str]:
    """Return a pattern of a sentence with names in it, which finds the names."""
    return re.compile(re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+?)", re.escape(sentence)), re.DOTALL)


_PATTERNS = {
    sentence: _pattern(sentence) for sentence in (*(one for pair in BLOCKED.values() for one in pair), LACKS_PERMISSION)
}


def shown_rule(rule: str) -> str:
    """Return a decision's rule in the active language; other sentences, such as a server's, are returned unchanged."""
    for sentence, pattern in _PATTERNS.items():
        if found := pattern.fullmatch(rule):
            return gettext(sentence) % found.groupdict()
    return gettext(rule) if rule else ""
