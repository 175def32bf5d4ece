"""Notifies listeners in this process of changes of tools. Changes by other processes have to be polled."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

_listeners: set[Callable[[], object]] = set()


def add_listener(listener: Callable[[], object]) -> Callable[[], None]:
    """Call `listener`, in any thread, after each notification; return a function that removes it."""
    _listeners.add(listener)
    return lambda: _listeners.discard(listener)


def notify() -> None:
    """Call the listeners once the current transaction is committed."""
    transaction.on_commit(_call_listeners)


def _call_listeners() -> None:
    for listener in list(_listeners):
        listener()
