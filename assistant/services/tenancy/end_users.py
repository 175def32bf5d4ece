"""End users: people of a tenant's own product, whom an optional app identifies. The core knows them by their role.

Each has a user row and a membership of their own, so that everything personal to users (conversations, runs, limits)
applies to them. Who they are in the tenant's product, and which pages may speak for them, the app says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.db.models import Model

from assistant.models import Membership
from assistant.toolkit.context import UserId


@dataclass(frozen=True, slots=True)
class EndUserInfo:
    """What a tenant's backend has said of an end user.

    Attributes:
        external_id: the tenant's own id of them.
        context: for tools; the model never sees it.
    """

    external_id: str
    name: str
    context: Mapping[str, Any]

    def for_tools(self) -> dict[str, Any]:
        """Return what tools read under `end_user` of their context."""
        return {"id": self.external_id, "name": self.name, "context": self.context}


class Directory(Protocol):
    """What the app that identifies end users knows."""

    # Rows that are deleted with the user at last, so that an erasure that was interrupted still finds whom to erase.
    models: tuple[type[Model], ...]

    def find(self, *, user_id: UserId) -> EndUserInfo | None:
        """Return who a user is; None if they are no end user."""

    def find_user(self, *, tenant_slug: str, external_id: str) -> Any:
        """Return the user of an end user by the tenant's own id; None if there is none."""

    def is_origin_allowed(self, *, tenant_slug: str, origin: str) -> bool:
        """Return whether pages of an origin may show any assistant of a tenant."""

    def allowed_origins(
        self, *, tenant_ids: Collection[int], assistant_ids: Collection[int]
    ) -> set[tuple[int, int | None, str]]:
        """Return the tenants, assistants and origins whose pages may show these assistants."""


class _Nobody:
    """Without an app there are no end users, and no other pages."""

    models: tuple[type[Model], ...] = ()

    def find(self, *, user_id: UserId) -> EndUserInfo | None:
        return None

    def find_user(self, *, tenant_slug: str, external_id: str) -> Any:
        return None

    def is_origin_allowed(self, *, tenant_slug: str, origin: str) -> bool:
        return False

    def allowed_origins(
        self, *, tenant_ids: Collection[int], assistant_ids: Collection[int]
    ) -> set[tuple[int, int | None, str]]:
        return set()


_directory: Directory = _Nobody()


def identify_with(directory: Directory) -> None:
    """Have an app identify end users."""
    global _directory  # noqa: PLW0603 - one app for the process
    _directory = directory


def directory() -> Directory:
    """Return what is known of end users here."""
    return _directory


def are_identified() -> bool:
    """Return whether an app identifies end users."""
    return not isinstance(_directory, _Nobody)


def is_end_user(*, user_id: UserId) -> bool:
    """Return whether a user is an end user of a tenant."""
    return Membership.objects.filter(user_id=user_id, role=Membership.Role.END_USER).exists()
