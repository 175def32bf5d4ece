"""What a process does once, beside its first work: so that its start waits for none of it, and no answer does later."""

from __future__ import annotations

import gc
from functools import cache

from assistant.mcp_client.connecting import sessions
from assistant.providers.openai import http_clients


@cache
def warm() -> None:
    """Import what the first question to a provider or to an MCP server needs; keep the collector away from all of it.

    The garbage collector's full passes hold up every stream while they look at what was imported and is never garbage.
    """
    http_clients.load()
    sessions.load()
    gc.collect()
    gc.freeze()
