"""Who is told that a run was begun in this process, and that it has ended: optional apps, never for each token."""

from __future__ import annotations

from collections.abc import Callable

from assistant.services.run_key import RunKey

Watcher = Callable[[RunKey], object]
watchers: list[Watcher] = []


def tell_of_runs(watcher: Watcher) -> None:
    """Tell a function of the runs of this process, on its event loop. It must neither wait nor query, nor raise.

    It is called twice for each run: when its task has begun, and when its end is stored. Of a run whose process has
    died, and of waiting runs that are cancelled or expire, nobody is told.
    """
    watchers.append(watcher)
