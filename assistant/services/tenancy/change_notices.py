"""Notifies listeners in this process of changes of tools. Changes by other processes have to be polled."""

from __future__ import annotations

from collections.abc import Callable

from assistant.services.listeners import Listeners

_listeners = Listeners[[]]()


def add_listener(listener: Callable[[], object]) -> Callable[[], None]:
    """Call `listener`, in any thread, after each notification; return a function that removes it."""
    return _listeners.add(listener)


def notify() -> None:
    """Call the listeners once the current transaction is committed."""
    _listeners.call_after_commit()
