"""Work that each process does once, in a thread, so that neither its start nor a later answer waits for it."""

from __future__ import annotations

import gc
from functools import cache

from assistant.mcp_client.connecting import sessions
from assistant.providers.openai import http_clients

_is_skipped = False


def skip_warm_up() -> None:
    """Skip the warm-up in this process. Called by `assistant.testing`: tests seldom ask a provider."""
    global _is_skipped  # noqa: PLW0603 - of the whole process
    _is_skipped = True


@cache
def warm_up() -> None:
    """Import what requests to providers and MCP servers need, and exclude all objects so far from garbage collection.

    A full collection pauses every stream while it visits what was imported, none of which is ever freed.
    """
    if _is_skipped:
        return
    http_clients.load()
    sessions.load()
    gc.collect()
    gc.freeze()
