"""Tasks that an async tool starts run within the carriers of its call, as its threads do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from assistant.toolkit.carriers import entered
from assistant.toolkit.context import RunningCall, current_call


class _Carried(Coroutine[Any, Any, Any]):
    """A coroutine, each step between two waits within the carriers of a call until that call is over."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], call: RunningCall) -> None:
        self._coroutine = coroutine
        self._call = call

    def __getattr__(self, name: str) -> Any:
        # anyio asks for `cr_frame` and the like, and tracebacks for `__qualname__`.
        return getattr(self._coroutine, name)

    def _within(self) -> AbstractContextManager[None]:
        return nullcontext() if self._call.is_over else entered(self._call.carriers, self._call.context)

    def _step(self, step: Callable[..., Any], *given: Any) -> Any:
        with self._within():
            try:
                return step(*given)
            except StopIteration as end:
                # Raised below: to a carrier, the end of a coroutine is no failure.
                ended = end
        raise ended

    def send(self, value: Any) -> Any:
        return self._step(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._coroutine.throw, *error)

    def close(self) -> None:
        with self._within():
            self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._coroutine.__await__())


class _TaskFactory:
    """Makes tasks as the loop did before, those of a running call within its carriers."""

    def __init__(self, before: Any) -> None:
        self._make = before or (lambda loop, coroutine, **options: asyncio.Task(coroutine, loop=loop, **options))

    def __call__(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        context = options.get("context")
        call = current_call.get(None) if context is None else context.get(current_call)
        if call is not None and call.carriers and not call.is_over and asyncio.iscoroutine(coroutine):
            coroutine = _Carried(coroutine, call)
        return self._make(loop, coroutine, **options)


def carry_into_tasks() -> None:
    """Have the tasks that tools start on this event loop run within their calls' carriers."""
    loop = asyncio.get_running_loop()
    factory = loop.get_task_factory()
    if not isinstance(factory, _TaskFactory):
        loop.set_task_factory(_TaskFactory(factory))
