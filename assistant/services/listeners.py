"""Functions of this process that are called when something happens in another part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

from django.db import transaction

P = ParamSpec("P")


class Listeners(Generic[P]):
    """The functions that listen to one kind of event. Safe to use in any thread."""

    def __init__(self) -> None:
        self._functions: set[Callable[P, object]] = set()

    def add(self, listener: Callable[P, object]) -> Callable[[], None]:
        """Add a function; return one that removes it."""
        self._functions.add(listener)
        return lambda: self._functions.discard(listener)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call the functions, in this thread."""
        for listener in list(self._functions):
            listener(*args, **kwargs)

    def call_after_commit(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call the functions once the current transaction is committed; at once if there is none."""
        transaction.on_commit(lambda: self.call(*args, **kwargs))
