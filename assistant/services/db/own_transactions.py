"""Keeps a host project's `ATOMIC_REQUESTS` away from views that begin and end their transactions themselves."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connections, transaction
from django.urls import URLPattern, URLResolver


def use_own_transactions(entries: Iterable[URLPattern | URLResolver]) -> None:
    """Mark the views at URL patterns, and at all below them, as outside of the requests' transactions.

    Django refuses `ATOMIC_REQUESTS` for asynchronous views. In synchronous ones other threads and processes would not
    see rows that must be there early, such as a claimed approval, and on SQLite would wait for the request to end.
    """
    for entry in entries:
        if isinstance(entry, URLResolver):
            use_own_transactions(entry.url_patterns)
            continue
        for alias in connections:
            transaction.non_atomic_requests(using=alias)(entry.callback)
