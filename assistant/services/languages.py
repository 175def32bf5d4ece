"""The languages of the texts that people read, and the catalogues that browsers load for them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.templatetags.static import static
from django.utils.translation import get_language, get_language_bidi, override

STATIC = Path(__file__).resolve().parent.parent / "static"
FOLDER = "assistant/languages"
ENGLISH = "en"


@dataclass(frozen=True, slots=True)
class PageLanguage:
    """What a page says of its language.

    Attributes:
        code: of our texts, such as "zh-hans".
        direction: "ltr" or "rtl".
        catalogue: the address of the scripts' texts; "" for English, in which they are written.
    """

    code: str
    direction: str
    catalogue: str


@cache
def own_languages() -> tuple[str, ...]:
    """Return the codes of the languages that our texts are in, English first."""
    return (ENGLISH, *sorted(path.stem for path in (STATIC / FOLDER).glob("*.js")))


def own_language(code: str | None) -> str:
    """Return which of our languages speakers of another read: "pt" for "pt-br"; "" if we have none for them."""
    known, part = own_languages(), code or ""
    while part:
        if part in known:
            return part
        part = part.rpartition("-")[0]
    return ""


def language_of_texts() -> str:
    """Return the language in which our texts are shown now: the active one, else the project's own, else English."""
    return own_language(get_language()) or own_language(settings.LANGUAGE_CODE) or ENGLISH


def page_language() -> PageLanguage:
    """Return what a page that is shown now says of its language."""
    code = language_of_texts()
    with override(code):
        direction = "rtl" if get_language_bidi() else "ltr"
    return PageLanguage(code, direction, catalogue_url(code))


def catalogue_url(code: str) -> str:
    """Return the address of a language's catalogue, which changes with its content; "" for English."""
    if code == ENGLISH:
        return ""
    address = static(f"{FOLDER}/{code}.js")
    # An address with a query may be signed.
    return address if "?" in address else f"{address}?v={catalogue_version(code)}"


@cache
def catalogue_version(code: str) -> str:
    """Return the version of a language's catalogue; "" if there is none."""
    path = STATIC / FOLDER / f"{code}.js"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.is_file() else ""
