"""Begins a coroutine at once, within the caller's own step, and hands over what it then waits for."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any


class Rest:
    """What is left of a coroutine that has begun and waits; await it once, in a task of its own."""

    def __init__(self, begun: Coroutine[Any, Any, object], waits_for: Any) -> None:
        self._begun = begun
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            yield self._waits_for
        except BaseException:
            self._begun.close()
            raise
        yield from self._begun.__await__()


def begin(coroutine: Coroutine[Any, Any, object]) -> Rest | None:
    """Run a coroutine up to where it first waits; None if it came to its end. Raises what it raises before that.

    Only for what does not care in which task it runs: a task of its own begins one turn of the event loop later, and
    that turn costs more than to send a short frame.
    """
    try:
        waits_for = coroutine.send(None)
    except StopIteration:
        return None
    return Rest(coroutine, waits_for)
