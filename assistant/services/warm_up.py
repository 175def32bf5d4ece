"""Work that each process does once, in a thread, so that neither its start nor a later answer waits for it."""

from __future__ import annotations

import gc
from functools import cache

from assistant.toolkit.lazy_module import LazyModule

_is_skipped = False
_modules = ["assistant.providers.openai_wire.http_clients"]


def load_early(module: str) -> None:
    """Have each process import a module that requests need, by its dotted name, before the first one comes."""
    _modules.append(module)


def skip_warm_up() -> None:
    """Skip the warm-up in this process. Called by `assistant.testing`: tests seldom ask a provider."""
    global _is_skipped  # noqa: PLW0603 - of the whole process
    _is_skipped = True


@cache
def warm_up() -> None:
    """Import what requests to providers and other servers need, and exclude all objects so far from garbage collection.

    A full collection pauses every stream while it visits what was imported, none of which is ever freed.
    """
    if _is_skipped:
        return
    for module in _modules:
        LazyModule(module).load()
    gc.collect()
    gc.freeze()
