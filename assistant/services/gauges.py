"""Gauges whose values are read at each scrape; without the metrics' package, which only a scrape needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

_watched: dict[str, tuple[str, Callable[[], float]]] = {}
watched: Mapping[str, tuple[str, Callable[[], float]]] = MappingProxyType(_watched)


def watch(name: str, description: str, read: Callable[[], float]) -> None:
    """Register a gauge whose value `read` returns at each scrape."""
    _watched[name] = (description, read)
