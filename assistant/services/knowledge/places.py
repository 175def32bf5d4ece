"""Puts documents where only some may read them, such as into collections. An optional app knows the places."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Protocol, cast

from django.db import models
from django.utils.module_loading import import_string

from assistant.services.knowledge.files import DocumentError
from assistant.services.tenancy.audit_trail import Actor

# Documents stay with the rows that they come from.
KEEP_ROW: Final = object()


class Places(Protocol):
    """Knows the places of a tenant's documents, in a thread without an event loop."""

    def names(self, tenant: models.Model) -> list[str]:
        """Return the names of a tenant's places, in their order."""
        ...

    def place(
        self, *, tenant: models.Model, document_ids: Collection[int], name: str, actor: Actor, row: Any, makes: bool
    ) -> None:
        """Put documents of a tenant into the place of a name.

        Args:
            row: a row of the project that they come from, which only they may read who see it; None of none, `KEEP_ROW`
                to leave it as it is.
            makes: whether to make a place that does not exist, for everybody.

        Raises:
            DocumentError: there is no such place, or a document is not the tenant's.
        """
        ...


_places: str | None = None


def place_with(places: str | None) -> None:
    """Have an app's places.

    Args:
        places: the dotted name of a `Places`, which is imported when it is first asked; None ends it.
    """
    global _places  # noqa: PLW0603 - of the whole process
    _places = places


def has_places() -> bool:
    """Return whether documents can be put anywhere."""
    return _places is not None


def place_names(tenant: models.Model) -> list[str]:
    """Return the names of a tenant's places; none without an app that has them."""
    return [] if _places is None else cast(Places, import_string(_places)).names(tenant)


def place(
    *,
    tenant: models.Model,
    document_ids: Collection[int],
    name: str,
    actor: Actor,
    row: Any = KEEP_ROW,
    makes: bool = False,
) -> None:
    """Put documents of a tenant into a place, as `Places.place` does.

    Raises:
        DocumentError: there is no such place, or a document is not the tenant's.
    """
    if _places is None:
        raise DocumentError(no_place(name))
    cast(Places, import_string(_places)).place(
        tenant=tenant, document_ids=document_ids, name=name, actor=actor, row=row, makes=makes
    )


def no_place(name: str) -> str:
    """Return the sentence about a place that does not exist."""
    return f"There is no collection “{name}”."
