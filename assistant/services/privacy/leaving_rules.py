"""What optional apps delete when memberships end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from django.db.models import QuerySet
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from assistant.models import Membership
    from assistant.services.tenancy.audit_trail import Actor


class Deletion(Protocol):
    """A function that deletes what members have stored in tenants, in the transaction that ends the memberships."""

    def __call__(self, *, actor: Actor, memberships: QuerySet[Membership]) -> None: ...


_names: list[str] = []


def delete_with(deletion: str) -> None:
    """Delete more when memberships end.

    Args:
        deletion: the dotted name of a `Deletion`, which is called before the memberships are deleted.
    """
    _names.append(deletion)


def deletions() -> list[Deletion]:
    """Return the functions that apps have named."""
    return [cast(Deletion, import_string(name)) for name in _names]
