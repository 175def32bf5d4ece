"""The catalogues of translations: brings them up to date with the sources, compiles them, and says what is wrong."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation import to_locale

from tests.translation.extraction import NAMES, ROOT, Name

LANGUAGES = ("de", "fr", "es", "pt", "ja", "zh-hans", "ar")
# The control panel is in English and this language.
OF_PANEL = ("de",)
LOCALE = ROOT / "assistant" / "locale"
MODULES = ROOT / "assistant" / "static" / "assistant" / "languages"
# Where Babel orders the forms otherwise than Django and all translators.
PLURALS = {
    "ar": "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 && n%100<=99 ? 4 : 5);"  # noqa: E501
}
_PLACEHOLDER = re.compile(r"%\((\w+)\)[sd]|%%")
_TAG = re.compile(r"</?[a-z]+[^<>]*>")
_ONE_DATE = datetime(2026, 1, 1, tzinfo=UTC)


def names_for(language: str) -> tuple[Name, ...]:
    """Return the names of a language's catalogues."""
    return NAMES if language in OF_PANEL else tuple(name for name in NAMES if name != "panel")


def path_of(language: str, name: Name) -> Path:
    """Return the path of a catalogue."""
    return LOCALE / to_locale(language) / "LC_MESSAGES" / f"{name}.po"


def read(language: str, name: Name) -> Catalog:
    """Return a catalogue as it is stored; an empty one if there is none."""
    path = path_of(language, name)
    locale = to_locale(language)
    if not path.is_file():
        catalog = Catalog(locale=locale, charset="utf-8", fuzzy=False)
        if language in PLURALS:
            catalog.mime_headers = [("Plural-Forms", PLURALS[language])]
        return catalog
    with path.open("rb") as file:
        return read_po(file, locale=locale, charset="utf-8", abort_invalid=True)


def updated(language: str, name: Name, template: Catalog) -> bytes:
    """Return a catalogue's file with the texts of the sources: what is alike keeps its translation, marked fuzzy."""
    catalog = read(language, name)
    catalog.update(template, no_fuzzy_matching=False, update_creation_date=False)
    catalog.obsolete.clear()
    catalog.project, catalog.version = "tenant-assistant", "1"
    # One date for ever: it would be in the way of every merge.
    catalog.creation_date = catalog.revision_date = _ONE_DATE
    catalog.header_comment = f"# {HEADERS[name]}"
    written = BytesIO()
    write_po(written, catalog, width=110, sort_by_file=True, include_lineno=False)
    return written.getvalue()


HEADERS = {
    "pages": "What members and end users read in pages, e-mails and errors.",
    "browser": "What the scripts of the chat and the widget show.",
    "panel": "What the operator's control panel shows.",
}


def compiled(language: str) -> dict[Path, bytes]:
    """Return the files that are made of a language's catalogues: Django's, and the scripts' module."""
    merged = read(language, "pages")
    for message in read(language, "panel") if "panel" in names_for(language) else ():
        if message.id:
            merged[message.id] = message
    written = BytesIO()
    write_mo(written, merged)
    folder = path_of(language, "pages").parent
    return {folder / "django.mo": written.getvalue(), MODULES / f"{language}.js": _module(read(language, "browser"))}


def _module(catalog: Catalog) -> bytes:
    """Return a module of JavaScript with the translations by their English texts."""
    messages = {_english(one): one.string for one in catalog if one.id and _is_complete(one)}
    texts = json.dumps(messages, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    # The separators that JSON has and older JavaScript has not.
    texts = texts.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"export const plural = (n) => Number({catalog.plural_expr});\nexport default {texts};\n".encode()


def _english(message: Message) -> str:
    return message.id[0] if isinstance(message.id, tuple) else str(message.id)


def _is_complete(message: Message) -> bool:
    return all(_strings(message)) and not message.fuzzy


def _strings(message: Message) -> tuple[str, ...]:
    """Return the forms of a translation, "" for one that is missing."""
    found = message.string if isinstance(message.string, tuple | list) else (message.string,)
    return tuple(one or "" for one in found)


def problems(language: str, name: Name) -> Iterator[str]:
    """Yield what is wrong with the translations of a catalogue, as sentences: English is read where one is missing."""
    where = path_of(language, name).relative_to(ROOT)
    catalog = read(language, name)
    for message in catalog:
        if message.id and _is_complete(message):
            text = _english(message)
            yield from (f"{where}: {text!r}: {error}" for error in message.check(catalog))
            yield from (f"{where}: {text!r}: {problem}" for problem in _differences(message))


def missing(language: str, name: Name, template: Catalog) -> Iterator[str]:
    """Yield what a release waits for, as sentences: texts that have no translation, and translations without a text."""
    where = path_of(language, name).relative_to(ROOT)
    catalog = read(language, name)
    wanted, known = {_key(one) for one in template if one.id}, {_key(one) for one in catalog if one.id}
    yield from (f"{where}: lacks {key}; run `make messages`" for key in sorted(wanted - known))
    yield from (f"{where}: has {key}, which nothing uses; run `make messages`" for key in sorted(known - wanted))
    for message in catalog:
        if message.id and message.fuzzy:
            yield f"{where}: {_english(message)!r} is marked fuzzy"
        elif message.id and not _is_complete(message):
            yield f"{where}: {_english(message)!r} is not translated"


def _key(message: Message) -> str:
    return "|".join(message.id) if isinstance(message.id, tuple) else str(message.id)


def _differences(message: Message) -> Iterator[str]:
    """Yield what a translation has, or lacks, that is the same in all languages: placeholders, tags, spaces at ends."""
    many = isinstance(message.id, tuple)
    english = message.id[-1] if many else str(message.id)
    strings = _strings(message)
    for index, string in enumerate(strings):
        wanted, found = _names(english), _names(string)
        # "One file" needs no number, but the form for most numbers does.
        may_lack = 1 if many and index < len(strings) - 1 else 0
        if found - wanted:
            yield f"has the unknown placeholder {', '.join(sorted(found - wanted))}"
        if sum((wanted - found).values()) > may_lack:
            yield f"lacks the placeholder {', '.join(sorted(wanted - found))}"
        if _tags(string) != _tags(english):
            yield "has other tags"
        if _ends(string) != _ends(english):
            yield "begins or ends with other spaces"


def _names(text: str) -> Counter[str]:
    return Counter(found[0] for found in _PLACEHOLDER.finditer(text))


def _tags(text: str) -> Iterable[str]:
    return sorted(_TAG.findall(text))


def _ends(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
