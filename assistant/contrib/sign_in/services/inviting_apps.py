"""What apps that invite people say of those who sign in elsewhere: their modules `at_sign_in`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

from django.http import HttpRequest

from assistant.optional_apps import installed


class Inviting(Protocol):
    """A module `at_sign_in`. Addresses are verified ones."""

    def has_proven(self, email: str, user: Any) -> bool:
        """Return whether a user owns an address because they accepted an invitation that was sent there."""
        ...

    def is_invited(self, email: str) -> bool:
        """Return whether an address has an invitation that can be accepted now."""
        ...

    def page_that_asks(self, request: HttpRequest, *, email: str, user: Any, following: str) -> str | None:
        """Return the address of the page that asks a person whether they join; None if they are not invited.

        Args:
            user: None for somebody new.
            following: a path of this site, where who declines is led to.
        """
        ...


@cache
def inviting_apps() -> tuple[Inviting, ...]:
    """Return these modules of the installed apps."""
    return tuple(
        cast(Inviting, import_module(f"{app.name}.at_sign_in")) for app in installed() if app.has("at_sign_in")
    )
