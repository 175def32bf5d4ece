"""Word within this process that something was switched; whoever needs to know of other processes looks now and then."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

_listeners: set[Callable[[], object]] = set()


def listen(listener: Callable[[], object]) -> Callable[[], None]:
    """Have `listener` called, in any thread, after each announcement; returns what ends that."""
    _listeners.add(listener)
    return lambda: _listeners.discard(listener)


def announce() -> None:
    """Tell the listeners, once the transaction that changed something is stored."""
    transaction.on_commit(_tell)


def _tell() -> None:
    for listener in list(_listeners):
        listener()
