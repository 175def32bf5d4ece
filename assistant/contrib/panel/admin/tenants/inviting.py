"""How an optional app invites people to tenants: its section among a tenant's people, and an owner without account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import URLPattern

from assistant.models import Tenant


@dataclass(frozen=True, slots=True)
class Inviting:
    """The functions of an app that invites people.

    Attributes:
        template: the section below a tenant's people.
        context: returns what the section shows to a user, with `form`, None if they may invite nobody.
        save: does what a valid form of the section says, and returns the message of success.
        urls: returns further addresses of the section, below the list of tenants; takes the page of tenants.
        check_owner: takes an address to which the owner of a new tenant would be invited; raises `ValidationError` if
            that is not possible.
        invite_owner: invites the owner of a new tenant, in its transaction; returns a function to call after that,
            which sends the invitation and returns a sentence about what was done.

    Saving and inviting raise `ValueError` or `Refused`, with a reason that can be shown.
    """

    template: str
    context: Callable[[HttpRequest, Tenant], dict[str, Any]]
    save: Callable[[HttpRequest, Tenant, Any], str]
    urls: Callable[[Any], list[URLPattern]]
    check_owner: Callable[[str], None]
    invite_owner: Callable[[HttpRequest, Tenant, str], Callable[[], str]]


_inviting: list[Inviting] = []


def invite_with(inviting: Inviting) -> None:
    """Have an app invite people."""
    _inviting[:] = [inviting]


def inviting() -> Inviting | None:
    """Return how people are invited; None where no app does."""
    return _inviting[0] if _inviting else None


def inviting_urls(page: Any) -> list[URLPattern]:
    """Return the addresses that the app adds below the list of tenants."""
    return [url for one in _inviting for url in one.urls(page)]
