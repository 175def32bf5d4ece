"""Finds the texts in the sources, and says which catalogue each belongs to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, get_args

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_python
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
Name = Literal["pages", "browser", "panel"]
NAMES: tuple[Name, ...] = get_args(Name)
# What the operator's control panel shows; all other texts are for members and end users.
PANEL = (
    "assistant/admin/",
    "assistant/contrib/panel/",
    "assistant/contrib/change_sets/",
    "assistant/contrib/collections/",
    "assistant/contrib/gaps/",
    "assistant/contrib/sources/",
    "assistant/contrib/data/admin/",
    "assistant/contrib/data/models.py",
    "assistant/contrib/data/templates/",
    "assistant/contrib/embeddings/",
    "assistant/contrib/end_users/admin/",
    "assistant/contrib/end_users/apps.py",
    "assistant/contrib/end_users/models.py",
    "assistant/contrib/evaluations/",
    "assistant/contrib/inbox/models/",
    "assistant/contrib/improvements/",
    "assistant/contrib/insights/admin/",
    "assistant/contrib/insights/apps.py",
    "assistant/contrib/insights/models.py",
    "assistant/contrib/insights/services/",
    "assistant/contrib/insights/templates/admin/",
    "assistant/contrib/invitations/admin/",
    "assistant/contrib/invitations/models.py",
    "assistant/contrib/invitations/templates/admin/",
    "assistant/contrib/mcp_servers/admin/",
    "assistant/contrib/mcp_servers/bundle_parts.py",
    "assistant/contrib/mcp_servers/models.py",
    "assistant/contrib/mcp_servers/services/provider_notes.py",
    "assistant/contrib/price_list/",
    "assistant/contrib/receipts/admin/",
    "assistant/contrib/receipts/apps.py",
    "assistant/contrib/receipts/models.py",
    "assistant/contrib/saved_prompts/admin/",
    "assistant/contrib/saved_prompts/models.py",
    "assistant/contrib/sent_requests/",
    "assistant/contrib/shares/admin/",
    "assistant/contrib/shares/bundle_parts.py",
    "assistant/contrib/shares/models.py",
    "assistant/contrib/sign_in/admin/",
    "assistant/contrib/webhooks/",
    "assistant/contrib/bundles/",
    "assistant/contrib/timed/admin/",
    "assistant/contrib/tool_requests/admin/",
    "assistant/contrib/tool_requests/models.py",
    "assistant/contrib/tool_requests/services/answering.py",
    "assistant/contrib/tool_requests/templates/admin/",
    "assistant/contrib/later_results/",
    "assistant/contrib/sub_agents/",
    "assistant/contrib/titles/",
    "assistant/contrib/timed/models/",
    "assistant/models/",
    "assistant/services/assistants/",
    "assistant/contrib/branding/",
    "assistant/services/tenancy/scopes.py",
    "assistant/services/tenant_events.py",
    "assistant/services/toolpolicy/rules.py",
    "templates/admin/",
)
# A comment that begins so, right above a text of the panel, says that pages show it too.
FOR_PAGES = "For pages:"
FOR_TRANSLATORS = "Translators:"
_FUNCTIONS = (
    "_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy",
)  # fmt: skip
_STRING = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_STRINGS = re.compile(rf"\b(n?p?gettext|_)\(\s*({_STRING}(?:\s*,\s*{_STRING})*)")


@dataclass(frozen=True, slots=True)
class Text:
    """A text in the sources. `message` has two forms if it depends on a number."""

    place: str
    message: str | tuple[str, str]
    context: str | None
    comments: tuple[str, ...]

    @property
    def is_of_panel(self) -> bool:
        return self.place.startswith(PANEL) and not any(FOR_PAGES in comment for comment in self.comments)

    @property
    def name(self) -> Name:
        return "browser" if self.place.endswith(".js") else "pages"

    def add_to(self, catalog: Catalog) -> None:
        notes = [comment for comment in self.comments if comment.startswith(FOR_TRANSLATORS)]
        catalog.add(self.message, locations=[(self.place, 0)], auto_comments=notes, context=self.context)

    def is_in(self, catalog: Catalog) -> bool:
        key = self.message if isinstance(self.message, str) else self.message[0]
        return catalog.get(key, self.context) is not None


def templates() -> dict[Name, Catalog]:
    """Return the three catalogues of the sources, without translations. What pages show is not the panel's."""
    found = {name: Catalog(charset="utf-8") for name in NAMES}
    texts = [text for path in _sources() for text in _texts(path)]
    for text in texts:
        if not text.is_of_panel:
            text.add_to(found[text.name])
    for text in texts:
        if text.is_of_panel and not text.is_in(found[text.name]):
            text.add_to(found["panel"])
    return found


def _sources() -> Iterator[Path]:
    for folder, endings in (("assistant", (".py", ".js", ".html", ".txt")), ("templates", (".html", ".txt"))):
        for path in sorted((ROOT / folder).rglob("*")):
            is_ours = not {"vendor", "languages", "locale", "migrations", "__pycache__"} & set(path.parts[:-1])
            if path.suffix in endings and is_ours:
                yield path


def _texts(path: Path) -> Iterator[Text]:
    place, source = path.relative_to(ROOT).as_posix(), path.read_text()
    if path.suffix == ".py":
        keywords: dict[str, Any] = dict.fromkeys(_FUNCTIONS)
        options = {"encoding": "utf-8"}
        read: Iterable[Any] = extract_python(BytesIO(source.encode()), keywords, [FOR_TRANSLATORS, FOR_PAGES], options)  # type: ignore[arg-type]
        calls: Iterable[Any] = ((function, found, comments) for _, function, found, comments in read)
    else:
        calls = _calls(source if path.suffix == ".js" else templatize(source, origin=str(path)))
    for function, found, comments in calls:
        texts = found if isinstance(found, tuple) else (found,)
        if texts[0] is None:
            continue  # of a variable, whose texts are marked where they are written
        if function.startswith("p"):
            yield Text(place, texts[1], texts[0], tuple(comments))
        else:
            message = (texts[0], texts[1]) if function.startswith("n") else texts[0]
            yield Text(place, message, None, tuple(comments))


def _calls(source: str) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """Yield the functions and texts of the calls in a script, or in what Django makes of a template."""
    for found in _STRINGS.finditer(source):
        yield found[1], ast.literal_eval(f"({found[2]},)"), []
