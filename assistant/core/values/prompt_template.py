"""Prompts with variables: `{{ today }}` stands for a value, and `\\{{` for two braces.

What a user can edit never stands within the operator's text: it is put into a fenced section at the end, which also
keeps all that comes before it the same for every user, for providers' prompt caches.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from assistant.core.values.untrusted import fenced
from assistant.toolkit.text import clean_text

USER_NAME, TENANT_NAME, TODAY = "user.name", "tenant.name", "today"
# The variables that every tenant has.
BUILT_IN = (USER_NAME, TENANT_NAME, TODAY)
# The longest text that users can put into a prompt, in characters.
MAX_USER_TEXT = 100
_BRACES = "{{"
_PLACE = re.compile(r"\\\{\{|\{\{([^{}\n]{0,100})\}\}|\{\{")


def has_braces(text: str) -> bool:
    """Whether a text has two opening braces, and so is another text when it is resolved."""
    return _BRACES in text


def with_escaped_braces(text: str) -> str:
    """Return the template that resolves to this text."""
    return text.replace(_BRACES, "\\" + _BRACES)


def names_in(text: str) -> list[str]:
    """Return the names of the variables in a template, in their order; "" for two braces that begin none."""
    places = (match for match in _PLACE.finditer(text) if not match[0].startswith("\\"))
    return list(dict.fromkeys((match[1] or "").strip() for match in places))


def resolve(text: str, value_of: Callable[[str], str], *, users: Mapping[str, Callable[[], str]]) -> str:
    """Return a template with its values.

    Args:
        value_of: returns the value of a variable of the tenant's, "" for one that does not exist.
        users: by name, the functions that return what users can edit. They are called if the template names them.
    """
    named: dict[str, str] = {}

    def put(match: re.Match[str]) -> str:
        if match[1] is None:
            return _BRACES
        name = match[1].strip()
        if name not in users:
            return value_of(name)
        if name not in named:
            named[name] = one_line(users[name]())
        return f"<{name}>"

    resolved = _PLACE.sub(put, text)
    if not named:
        return resolved
    lines = "\n".join(f"{name}: {value}" for name, value in named.items())
    meant = "what the text above means by " + " and ".join(f"<{name}>" for name in named)
    return f"{resolved}\n\n{fenced(lines, meant)}"


def one_line(text: str) -> str:
    """Return what a user wrote on one line of at most `MAX_USER_TEXT` characters, without invisible characters."""
    # Categories that begin with C are control and format characters; some are spaces, such as line breaks.
    visible = (
        one if one.isspace() or not unicodedata.category(one).startswith("C") else "" for one in clean_text(text[:1000])
    )
    return " ".join("".join(visible).split())[:MAX_USER_TEXT].rstrip()
