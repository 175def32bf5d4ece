"""What optional apps add to the menu of a conversation, with its dialogs, and below the list of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise

from assistant.services.tenancy.members import ForMember, Member


@dataclass(frozen=True, slots=True, eq=False)
class MenuEntry:
    """An entry of the menu, as `add_entry` describes it."""

    name: str
    label: str | Promise
    script: str
    dialog: str
    is_for: ForMember | None
    offers_refused: bool


@dataclass(frozen=True, slots=True, eq=False)
class ListButton:
    """A button below the list of conversations, as `add_below_list` describes it."""

    name: str
    label: str | Promise
    script: str


_entries: list[MenuEntry] = []
_below_list: list[ListButton] = []


def add_entry(
    name: str,
    label: str | Promise,
    *,
    script: str,
    dialog: str = "",
    is_for: ForMember | None = None,
    offers_refused: bool = False,
) -> None:
    """Add an entry to the menu of a conversation.

    Args:
        name: the value of `data-menu` in the page, which no other entry has.
        script: the static file of a module, which the page fetches when the entry is chosen. It exports
            `open(address, name, tool)`, which gets the address of the conversation's page.
        dialog: the name of the template of a dialog, which stands in the page.
        is_for: whether a member is shown it; without it, all are.
        offers_refused: whether the cards of refused tool calls have it as a button, too; `tool` is the name then.
    """
    _entries.append(MenuEntry(name, label, script, dialog, is_for, offers_refused))


def entries(*, member: Member) -> list[MenuEntry]:
    """Return the entries that a member is shown."""
    return [entry for entry in _entries if entry.is_for is None or entry.is_for(member=member)]


def add_below_list(name: str, label: str | Promise, *, script: str) -> None:
    """Add a button below the list of conversations.

    Args:
        name: the button's id in the page.
        script: the static file of a module, which the page fetches when the button is pressed. It exports
            `open({ base, go })`: the address of the tenant's chat, and a function that loads the list again and goes
            to the address of a conversation.
    """
    _below_list.append(ListButton(name, label, script))


def below_list() -> Sequence[ListButton]:
    """Return the buttons below the list."""
    return _below_list
