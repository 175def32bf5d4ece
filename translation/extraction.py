"""Finds the texts in the sources, and says which catalogue each belongs to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, get_args

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_python
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
Name = Literal["pages", "browser", "panel"]
NAMES: tuple[Name, ...] = get_args(Name)
# What the operator's control panel shows; all other texts are for members and end users.
PANEL = (
    "assistant/admin/",
    "assistant/models/",
    "assistant/panel.py",
    "assistant/services/assistants/",
    "assistant/services/branding/",
    "assistant/services/bundles/",
    "assistant/services/evaluations/",
    "assistant/services/redteam/",
    "assistant/services/reports/",
    "assistant/services/tenancy/api_keys.py",
    "assistant/static/assistant/admin/",
    "templates/admin/",
)
# A comment that begins so, right above a text of the panel, says that pages show it too.
FOR_PAGES = "For pages:"
# The functions whose first arguments are texts, with the positions of these; "c" marks a context.
_ONE = ("_", "gettext", "gettext_lazy", "gettext_noop")
_MANY = ("ngettext", "ngettext_lazy")
_WITH_CONTEXT = ("pgettext", "pgettext_lazy")
_FUNCTIONS = [*_ONE, *_MANY, *_WITH_CONTEXT]
_STRING = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_STRINGS = re.compile(rf"\b(n?p?gettext|_)\(\s*({_STRING}(?:\s*,\s*{_STRING})*)")
Found = tuple[int, str, Any, list[str]]


def templates() -> dict[Name, Catalog]:
    """Return the three catalogues of the sources, without translations. What pages show is not the panel's."""
    found = {name: Catalog(charset="utf-8") for name in NAMES}
    panel: list[tuple[str, Any, dict[str, Any]]] = []
    for path in _sources():
        place = path.relative_to(ROOT).as_posix()
        for _, function, given, comments in _texts(path):
            message, context = _message(function, given)
            added = {"locations": [(place, 0)], "auto_comments": _notes(comments), "context": context}
            if place.startswith(PANEL) and not any(FOR_PAGES in comment for comment in comments):
                panel.append((place, message, added))
            else:
                found["browser" if path.suffix == ".js" else "pages"].add(message, **added)
    for place, message, added in panel:
        key = message[0] if isinstance(message, tuple) else message
        known = "browser" if place.endswith(".js") else "pages"
        if found[known].get(key, added["context"]) is None:
            found["panel"].add(message, **added)
    return found


def _sources() -> Iterator[Path]:
    for folder, endings in (("assistant", (".py", ".js")), ("templates", (".html", ".txt"))):
        for path in sorted((ROOT / folder).rglob("*")):
            is_ours = not {"vendor", "languages", "locale", "migrations", "__pycache__"} & set(path.parts[:-1])
            if path.suffix in endings and is_ours:
                yield path


def _texts(path: Path) -> Iterator[Found]:
    if path.suffix == ".py":
        tags = ["Translators:", FOR_PAGES]
        yield from extract_python(BytesIO(path.read_bytes()), _FUNCTIONS, tags, {"encoding": "utf-8"})
    else:
        source = path.read_text()
        yield from _in_calls(source if path.suffix == ".js" else templatize(source, origin=str(path)))


def _in_calls(source: str) -> Iterator[Found]:
    """Yield the texts of the calls in a script, or in what Django makes of a template."""
    for found in _STRINGS.finditer(source):
        texts = ast.literal_eval(f"({found[2]},)")
        yield 0, found[1], texts if len(texts) > 1 else texts[0], []


def _message(function: str, given: Any) -> tuple[str | tuple[str, str], str | None]:
    """Return the message as catalogues have it, and its context."""
    texts = given if isinstance(given, tuple) else (given,)
    if function.startswith(_MANY):
        return (texts[0], texts[1]), None
    return (texts[1], texts[0]) if function.startswith(_WITH_CONTEXT) else (texts[0], None)


def _notes(comments: list[str]) -> list[str]:
    return [comment for comment in comments if comment.startswith("Translators:")]
