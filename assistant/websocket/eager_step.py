"""Begins a coroutine at once, within the caller's own step, and hands over what it then waits for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any


class Rest:
    """What is left of a coroutine that has begun and waits; await it once, in a task of its own, or `close` it."""

    def __init__(self, begun: Coroutine[Any, Any, object], waits_for: Any) -> None:
        self._begun = begun
        self._waits_for = waits_for

    def close(self) -> None:
        """Give it up."""
        self._begun.close()

    def __await__(self) -> Generator[Any, Any, None]:
        # As `yield from` would: whatever comes of the waiting, its end or an exception, is the coroutine's to handle.
        waits_for = self._waits_for
        while True:
            step: Callable[[], Any]
            try:
                value = yield waits_for
            except GeneratorExit:
                self._begun.close()
                raise
            except BaseException as exc:
                step = partial(self._begun.throw, exc)
            else:
                step = partial(self._begun.send, value)
            try:
                waits_for = step()
            except StopIteration:
                return


def begin(coroutine: Coroutine[Any, Any, object]) -> Rest | None:
    """Run a coroutine up to where it first waits; None if it came to its end. Raises what it raises before that.

    Only for what does not ask in which task it runs, as `asyncio.timeout` does. A task of its own would begin one turn
    of the event loop later, and that turn costs more than to send a short frame.
    """
    try:
        waits_for = coroutine.send(None)
    except StopIteration:
        return None
    return Rest(coroutine, waits_for)
