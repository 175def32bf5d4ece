"""Propagates the tool's context to threads that a running tool starts.

Before Python 3.14 a thread starts with empty context variables, so a tool's own threads would lose their tenant.
Threads started outside a tool are not affected.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.thread import _worker as _pool_worker
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from assistant.toolkit.carried_context import CarriedContext

T = TypeVar("T")
# Threads of an event loop's default pool, in which `asyncio.to_thread` runs functions. They stay, unlike a tool's own.
LOOP_POOL = "asyncio_"
_cleanup: Callable[[], object] | None = None
# Returns a context manager that enters the running tool's context in another thread; None outside a tool.
CaptureContext = Callable[[], AbstractContextManager[None] | None]

_start, _submit = threading.Thread.start, ThreadPoolExecutor.submit


def set_loop_pool_cleanup(cleanup: Callable[[], object] | None) -> None:
    """Set what threads of the loop's default pool call after a job of a tool, such as closing database connections."""
    global _cleanup  # noqa: PLW0603 - the patches below are the process's too
    _cleanup = cleanup


def _with_cleanup(
    captured: AbstractContextManager[None], function: Callable[..., T], /, *args: Any, **kwargs: Any
) -> T:
    try:
        with captured:
            return function(*args, **kwargs)
    finally:
        if _cleanup is not None and threading.current_thread().name.startswith(LOOP_POOL):
            _cleanup()


class PoolThread(threading.Thread):
    """A thread of a pool: it inherits no context, since each job has its own."""


def _is_pool_worker(thread: threading.Thread) -> bool:
    return (
        isinstance(thread, PoolThread)
        or getattr(thread, "_target", None) is _pool_worker
        # Workers of multiprocessing.pool.ThreadPool, compared by name to avoid the import.
        or type(thread).__module__ == "multiprocessing.dummy"
    )


def propagate_to_threads(capture: CaptureContext, note: Callable[[threading.Thread], None]) -> None:
    """Patch `Thread.start` and `ThreadPoolExecutor.submit` so that they propagate the context from `capture`.

    Args:
        note: called with every thread that is about to start, in the thread that starts it.
    """

    def start(self: threading.Thread) -> None:
        note(self)
        captured = None if _is_pool_worker(self) else capture()
        if captured is not None:
            run = self.run

            def run_within() -> None:
                with captured:
                    run()

            self.run = run_within  # type: ignore[method-assign]
        _start(self)

    def submit(self: ThreadPoolExecutor, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        captured = capture()
        if captured is None:
            return _submit(self, fn, *args, **kwargs)
        return _submit(self, CarriedContext().run, _with_cleanup, captured, fn, *args, **kwargs)

    threading.Thread.start = start  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign, assignment]
