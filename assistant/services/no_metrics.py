"""Stands in for prometheus-client where it is not installed: nothing is counted, and a scrape gets nothing."""

from __future__ import annotations

from typing import Any

CONTENT_TYPE_LATEST = "text/plain"


class Metric:
    """Takes what is counted, and forgets it."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def labels(self, *_: Any) -> Metric:
        """Return the series with these labels: itself."""
        return self

    def nothing(self, *_: Any) -> None:
        """Do nothing."""

    inc = observe = set = set_function = clear = nothing


Counter = Gauge = Histogram = Metric


def disable_created_metrics() -> None:
    """Do nothing."""


def generate_latest() -> bytes:
    """Return no metrics."""
    return b""
