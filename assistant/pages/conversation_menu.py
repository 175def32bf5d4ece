"""Entries that optional apps add to the menu of a conversation, with their dialogs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.functional import Promise

from assistant.pages.member_links import ForMember

if TYPE_CHECKING:
    from assistant.services.tenancy.members import Member


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the menu, as `add_entry` describes it."""

    name: str
    label: str | Promise
    script: str
    dialog: str
    is_for: ForMember


_entries: list[MenuEntry] = []


def add_entry(name: str, label: str | Promise, *, script: str, dialog: str, is_for: ForMember) -> None:
    """Add an entry to the menu of a conversation.

    Args:
        name: the value of `data-menu` in the page, which no other entry has.
        script: the static file of a module, which the page fetches when the entry is chosen. It exports
            `open(address)`, which gets the address of the conversation's page.
        dialog: the name of the template of a dialog, which stands in the page.
        is_for: whether a member is shown it.
    """
    _entries.append(MenuEntry(name, label, script, dialog, is_for))


def entries(*, member: Member) -> list[MenuEntry]:
    """Return the entries that a member is shown."""
    return [entry for entry in _entries if entry.is_for(member=member)]
