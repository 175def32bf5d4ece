"""The setting LANGUAGES: which of the languages that the assistant is translated into are offered."""

from __future__ import annotations

from django.conf.global_settings import LANGUAGES
from django.utils.translation import gettext_lazy

from assistant.environment import Environment

# With Django's own names of them.
OFFERED = ("en", "de", "fr", "es", "pt", "ja", "zh-hans", "ar")
NAMES = {code: name for code, name in LANGUAGES if code in OFFERED}


def chosen(env: Environment) -> list[tuple[str, object]]:
    """Return the languages, all by default, each with its translated name."""
    codes = env.words("LANGUAGES", OFFERED, problem=_problem)
    return [(code, gettext_lazy(NAMES[code])) for code in dict.fromkeys(codes or OFFERED)]


def _problem(code: str) -> str:
    return "" if code in OFFERED else f"{code!r} is none of {', '.join(OFFERED)}"
