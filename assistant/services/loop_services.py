"""What goes on in each server process beside its runs, from their start to the shutdown: optional apps add theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

from django.utils.module_loading import import_string


class LoopService(Protocol):
    """Work of one event loop."""

    def start(self) -> None:
        """Begin, in the event loop."""
        ...

    async def stop(self) -> None:
        """End, and give back what is held."""
        ...


Factory = Callable[[], LoopService | None]
_factories: list[str] = []


def add_service(factory: str) -> None:
    """Run a service in every process that works on runs.

    Args:
        factory: the dotted name of a `Factory`, which returns None where the process has nothing to do.
    """
    if factory not in _factories:
        _factories.append(factory)


def new_services() -> list[LoopService]:
    """Return the services of one event loop, not started yet."""
    made = (cast(Factory, import_string(name))() for name in _factories)
    return [service for service in made if service is not None]
