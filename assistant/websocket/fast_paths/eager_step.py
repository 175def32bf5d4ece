"""Starts a coroutine at once, in the caller's task, and returns the rest of it if it has to wait."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any

# The name of this fast path for `is_used`.
EAGER_STEP = "eager step"


class Rest:
    """The rest of a coroutine that has started and waits. Await it once, in a task, or `close` it."""

    def __init__(self, begun: Coroutine[Any, Any, object], waits_for: Any) -> None:
        self._begun = begun
        self._waits_for = waits_for

    def close(self) -> None:
        """Close the coroutine without finishing it."""
        self._begun.close()

    def __await__(self) -> Generator[Any, Any, None]:
        # As with `yield from`, the coroutine gets the value or the exception that ends its wait.
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
    """Run a coroutine until it first waits, and return the rest of it, or None if it has finished.

    Raises what the coroutine raises until then. The coroutine must not use the current task, as `asyncio.timeout` does.
    """
    try:
        waits_for = coroutine.send(None)
    except StopIteration:
        return None
    return Rest(coroutine, waits_for)
