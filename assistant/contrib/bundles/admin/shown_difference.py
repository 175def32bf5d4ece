"""The difference that an import would make, as its page shows it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Model
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.names import label_of, shown_value
from assistant.contrib.bundles.services.difference import Difference, Entry, FieldChange, Kind
from assistant.contrib.bundles.services.parts import added_parts
from assistant.models import Assistant, PromptVariable, Tenant, TenantLimits, ToolSetting

# Texts of more lines are not compared line by line, which could take long; longer values are not shown whole.
MAX_LINES, MAX_SHOWN, MAX_INLINE = 1_000, 20_000, 80
_HEADINGS: tuple[tuple[Kind, str | Promise, str | Promise], ...] = (
    ("create", _("Will be created"), ""),
    ("change", _("Will be changed"), ""),
    ("refused", _("Cannot be taken"), _("The rest is imported without it.")),
    ("by_hand", _("To do by hand afterwards"), ""),
    ("kept", _("Only here"), _("The bundle does not name these: they stay as they are.")),
)
_SECTIONS: dict[str, tuple[str | Promise, type[Model]]] = {
    "settings": (_("Settings"), Tenant),
    "limits": (_("Limits"), TenantLimits),
    "variable": (_("Prompt variable"), PromptVariable),
    "tool": (_("Tool"), ToolSetting),
    "assistant": (_("Assistant"), Assistant),
}
_SIGNS = {"+": "added", "-": "removed", "@": "place"}


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A value: on one line as before and after, or else as lines with the class of each."""

    name: str
    before: str
    after: str
    lines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ShownEntry:
    """A row: what it is, its name, its values, and why it is not taken or what is to be done."""

    section: str | Promise
    name: str
    changes: tuple[ShownChange, ...]
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class ShownPart:
    """The rows of one kind."""

    kind: Kind
    heading: str | Promise
    about: str | Promise
    entries: tuple[ShownEntry, ...]


def shown_parts(difference: Difference) -> list[ShownPart]:
    """Return the parts that have rows; what is the same already is only counted elsewhere."""
    parts = (
        ShownPart(kind, heading, about, tuple(map(_entry, difference.of_kind(kind))))
        for kind, heading, about in _HEADINGS
    )
    return [part for part in parts if part.entries]


def _entry(entry: Entry) -> ShownEntry:
    title, model = _section(entry.section)
    changes = tuple(_change(one, model, is_new=entry.kind == "create") for one in entry.changes)
    return ShownEntry(title, entry.name, changes, entry.reason)


def _section(name: str) -> tuple[str | Promise, type[Model]]:
    """Return the title of a section, and the model whose rows its entries are."""
    added = {part.section: (part.title, part.model) for part in added_parts()}
    return _SECTIONS[name] if name in _SECTIONS else added[name]


def _change(change: FieldChange, model: type[Model], *, is_new: bool) -> ShownChange:
    name = label_of(model, change.name)
    before, after = (_text(shown_value(model, change.name, value)) for value in (change.before, change.after))
    if all("\n" not in text and len(text) <= MAX_INLINE for text in (before, after)):
        return ShownChange(name, before, after)
    return ShownChange(name, "", "", tuple(_lines("" if is_new else before, after)))


def _text(value: object) -> str:
    if value in (None, "", [], {}):
        return "—"
    if isinstance(value, dict):
        return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    if isinstance(value, Sequence) and not isinstance(value, str):
        joined = ", ".join(map(str, value))
        return joined if len(joined) <= MAX_INLINE else "\n".join(map(str, value))
    return str(value)


def _lines(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield the class and text of each line of the difference."""
    old, new = before[:MAX_SHOWN].splitlines(), after[:MAX_SHOWN].splitlines()
    if len(old) + len(new) > MAX_LINES:
        yield from (("removed", f"-{line}") for line in old[:MAX_LINES])
        yield from (("added", f"+{line}") for line in new[:MAX_LINES])
    elif not before:
        yield from (("added", f"+{line}") for line in new)
    else:
        for line in list(difflib.unified_diff(old, new, lineterm="", n=3))[2:]:
            yield _SIGNS.get(line[:1], "same"), line
    if max(len(before), len(after)) > MAX_SHOWN:
        yield "place", "…"
