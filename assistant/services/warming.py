"""What a process does once, beside its first work: so that its start waits for none of it, and no answer does later."""

from __future__ import annotations

import gc
from functools import cache

from assistant.providers.openai import load_connections


@cache
def warm() -> None:
    """Import what the first question to a provider needs, and take what is there for good from the garbage collector.

    Its full passes hold up every stream while they look at all that was imported, which is never garbage.
    """
    load_connections()
    gc.collect()
    gc.freeze()
