"""Which documents are older than what they come from. Optional apps know their sources; without them, none are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, cast

from django.utils.module_loading import import_string


@dataclass(frozen=True, slots=True)
class Outdated:
    """A document whose source was changed after it was read: a name of the source for people."""

    document_id: int
    source: str


class SourceChanges(Protocol):
    """Knows what documents come from, in a thread without an event loop."""

    def __call__(self, tenant_id: int) -> Iterable[Outdated]:
        """Return the documents of a tenant that are older than their sources."""
        ...


# Of optional apps: the labels of models whose rows have a tenant and the document that comes from each.
KEEPERS: list[str] = []
_known: list[str] = []
_listeners: list[str] = []


def tell_changes_with(changes: str) -> None:
    """Add what knows of changed sources: the dotted name of a `SourceChanges`, imported when it is first asked."""
    if changes not in _known:
        _known.append(changes)


def older_than_source(tenant_id: int) -> Iterator[Outdated]:
    """Yield the documents of a tenant that are older than what they come from."""
    for name in _known:
        yield from cast(SourceChanges, import_string(name))(tenant_id)


def listen_with(listener: str) -> None:
    """Have a function called with a tenant's id when documents may have become older than their sources.

    Args:
        listener: its dotted name, which is imported when it is first called.
    """
    if listener not in _listeners:
        _listeners.append(listener)


def announce(tenant_id: int) -> None:
    """Tell those who listen that a tenant's sources were looked at."""
    for name in _listeners:
        cast(Callable[[int], object], import_string(name))(tenant_id)
