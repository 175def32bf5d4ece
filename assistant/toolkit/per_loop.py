"""Values that belong to one event loop, such as connections, tasks and locks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One value for each event loop, dropped with the loop.

    Args:
        make: makes the value at the first use within a loop.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """Return the running loop's value. Raises `RuntimeError` outside of a loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = self._make()
        return self._by_loop[loop]

    def reset(self) -> None:
        """Drop the running loop's value; the next `get` makes another."""
        self._by_loop.pop(asyncio.get_running_loop(), None)

    def values(self) -> list[T]:
        """Return the values of all loops of this process, from any thread."""
        return list(self._by_loop.values())
