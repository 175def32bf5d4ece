"""Recurring work of the deployment, by registered names: each checks the rows of all tenants for something that is due.

A check is one or two indexed queries, so every process may make it. A process claims what it finds by an update of its
row, so that it is done once. Work that takes long, or whose failure somebody has to see, is a job (`jobs`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

# In a database thread if it is not async.
Work = Callable[[], Awaitable[Any] | Any]
W = TypeVar("W", bound=Work)


class Recurring(NamedTuple):
    """Recurring work.

    Attributes:
        seconds: how often it is done by each process.
        is_first_later: not when the process starts, but after `seconds`.
    """

    name: str
    seconds: float
    work: Work
    is_first_later: bool = False


_recurring: dict[str, Recurring] = {}


def recurs(name: str, *, seconds: float, is_first_later: bool = False) -> Callable[[W], W]:
    """Register the decorated function, without arguments, as recurring work.

    Raises:
        ValueError: another function is registered for the name.
    """

    def register(work: W) -> W:
        if _recurring.setdefault(name, Recurring(name, seconds, work, is_first_later)).work is not work:
            raise ValueError(f"two functions for recurring work of the name {name!r}")
        return work

    return register


def recurring() -> list[Recurring]:
    """Return the recurring work that is registered."""
    return list(_recurring.values())
