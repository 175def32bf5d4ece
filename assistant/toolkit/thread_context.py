"""Lets the threads that a running tool starts know for whom they work, and nobody else's.

Before Python 3.14 a thread starts with empty context variables, so a tool's own threads would lose their tenant.
Outside a running tool, threads start as ever.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.thread import _worker as _pool_worker
from contextlib import AbstractContextManager
from typing import Any, TypeVar

T = TypeVar("T")
# Returns what makes the running tool's context current in another thread; None outside a tool.
CaptureContext = Callable[[], AbstractContextManager[None] | None]

_start, _submit = threading.Thread.start, ThreadPoolExecutor.submit


class PoolThread(threading.Thread):
    """A thread that works for many callers: it inherits the context of none, each job brings its own."""


def _is_pool_worker(thread: threading.Thread) -> bool:
    return (
        isinstance(thread, PoolThread)
        or getattr(thread, "_target", None) is _pool_worker
        # The workers of multiprocessing.pool.ThreadPool; comparing names spares importing it.
        or type(thread).__module__ == "multiprocessing.dummy"
    )


def propagate_to_threads(capture: CaptureContext) -> None:
    """From now on, a thread or a pool's job that is started within a running tool has the tool's context."""

    def start(self: threading.Thread) -> None:
        captured = None if _is_pool_worker(self) else capture()
        if captured is not None:
            run = self.run

            def run_within() -> None:
                with captured:
                    run()

            self.run = run_within  # type: ignore[method-assign]
        _start(self)

    def submit(self: ThreadPoolExecutor, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if capture() is None:
            return _submit(self, fn, *args, **kwargs)
        return _submit(self, contextvars.copy_context().run, fn, *args, **kwargs)

    threading.Thread.start = start  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign, assignment]
