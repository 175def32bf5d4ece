"""Links to pages of optional apps: above and at the foot of the list of conversations, and at one's account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise

from assistant.services.tenancy.members import ForMember, Member


@dataclass(frozen=True, slots=True, eq=False)
class MemberLink:
    """A link to a page of a member; `icon` is the template of its picture."""

    url_name: str
    label: str | Promise
    icon: str
    is_for: ForMember


_links: list[MemberLink] = []


def add_link(url_name: str, label: str | Promise, *, icon: str, is_for: ForMember) -> None:
    """Show members a link to a page whose address has the tenant.

    Args:
        url_name: with its namespace.
        label: names the page for screen readers and as a hint.
        icon: the name of a template with an SVG picture.
        is_for: whether a member is shown it.
    """
    _links.append(MemberLink(url_name, label, icon, is_for))


def links(*, member: Member) -> list[MemberLink]:
    """Return the links that a member is shown."""
    return [link for link in _links if link.is_for(member=member)]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A page of a member above the list of their conversations, as `add_place` describes it."""

    url_name: str
    label: str | Promise
    icon: str
    count: str


_places: list[Place] = []


def add_place(url_name: str, label: str | Promise, *, icon: str, count: str = "") -> None:
    """Show all members a link to a page above the list of their conversations.

    Args:
        url_name: with its namespace; its address has the tenant.
        icon: the name of a template with an SVG picture.
        count: the value of `data-count` of an element in the link, in which a script shows how much is there.
    """
    _places.append(Place(url_name, label, icon, count))


def places() -> list[Place]:
    """Return the pages above the list of conversations."""
    return list(_places)


@dataclass(frozen=True, slots=True, eq=False)
class AccountLink:
    """A link to a page about a person's account; `label` is a button, `hint` names it where only `icon` is shown."""

    url_name: str
    label: str | Promise
    hint: str | Promise
    icon: str
    is_on: Callable[[], bool]


_account_links: list[AccountLink] = []


def add_account_link(link: AccountLink) -> None:
    """Show people a link to a page about their account: in the chat, on their own page and in the admin."""
    _account_links.append(link)


def account_links() -> list[AccountLink]:
    """Return the links that are on."""
    return [link for link in _account_links if link.is_on()]
