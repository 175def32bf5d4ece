"""The context variables, the language and the trace of a caller, for functions that run in another thread or process.

Threads that a running tool starts get its context, too. Before Python 3.14 a thread starts with empty context
variables, so a tool's own threads would lose their tenant. Threads started outside a tool are not affected.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.thread import _worker as _pool_worker
from contextlib import AbstractContextManager
from contextvars import Token
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from assistant.toolkit.lazy_module import is_there

if TYPE_CHECKING:
    from opentelemetry.context import Context

T = TypeVar("T")


def _no_language() -> str | None:
    return None


_language: Callable[[], str | None] = _no_language
_activate: Callable[[str], object] = str


def carry_language_with(language: Callable[[], str | None], activate: Callable[[str], object]) -> None:
    """Carry the language to other threads from now on, with functions like Django's `get_language` and `activate`."""
    global _language, _activate
    _language, _activate = language, activate


def current_language() -> str | None:
    """Return the code of the active language; None without one."""
    return _language()


# Variables whose values tell a tool nothing that its context does not, or nothing at all.
_internal: set[contextvars.ContextVar[Any]] = set()
# What Django keeps in variables of asgiref: the language, which `current_language` tells, and its connections.
_OF_DJANGO = ("django.utils.translation.", "django.db.backends.", "django.core.cache.")


def declare_internal(*variables: contextvars.ContextVar[Any]) -> None:
    """Declare that tools do not read these variables."""
    _internal.update(variables)


def readable_variables() -> dict[contextvars.ContextVar[Any], Any]:
    """Return the context variables that are set here and that a tool may read, with their values."""
    found = contextvars.copy_context().items()
    return {variable: _readable(variable, value) for variable, value in found if variable not in _internal}


def _readable(variable: contextvars.ContextVar[Any], value: Any) -> Any:
    """Return a value without what Django keeps in it, and without OpenTelemetry's span, which is new with each call."""
    if type(value).__module__ == "opentelemetry.context.context":
        return {name: one for name, one in value.items() if not name.startswith("current-span-")}
    if variable.name != "asgiref.local" or not isinstance(data := getattr(value, "data", None), dict):
        return value
    return {name: one for name, one in data.items() if not type(one).__module__.startswith(_OF_DJANGO)}


@dataclass(frozen=True, eq=False, slots=True)
class CarriedContext:
    """A copy of the caller's context, made where it is created.

    Django keeps the language in a `Local` of asgiref, whose values hold for one thread, in a copied context too: so it
    is activated again in the thread that runs a function.

    Attributes:
        values: the context variables; set some in it for the functions that are run.
        language: the code of the active language; None without one.
    """

    values: contextvars.Context = field(default_factory=contextvars.copy_context)
    language: str | None = field(default_factory=current_language)

    def run(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Return what `function` returns. One thread at a time may run functions."""
        if self.language is not None:
            self.values.run(_activate, self.language)
        return self.values.run(function, *args, **kwargs)


# Threads of an event loop's default pool, in which `asyncio.to_thread` runs functions. They stay, unlike a tool's own.
LOOP_POOL = "asyncio_"
_cleanup: Callable[[], object] | None = None

_start = threading.Thread.start
_submit = ThreadPoolExecutor.submit


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


def propagate_to_threads(
    current: contextvars.ContextVar[T],
    enter: Callable[[T], AbstractContextManager[None]],
    note: Callable[[threading.Thread], None],
) -> None:
    """Patch `Thread.start` and `ThreadPoolExecutor.submit` so that they carry a call that is running to threads.

    Args:
        current: the running call; unset outside of one.
        enter: returns a context manager that enters a call in another thread.
        note: called with every thread that is about to start, in the thread that starts it.
    """

    def start(self: threading.Thread) -> None:
        note(self)
        call = None if _is_pool_worker(self) else current.get(None)
        if call is not None:
            run = self.run
            entered = enter(call)

            def run_within() -> None:
                with entered:
                    run()

            self.run = run_within  # type: ignore[method-assign]
        _start(self)

    def submit(self: ThreadPoolExecutor, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        call = current.get(None)
        if call is None:
            return _submit(self, fn, *args, **kwargs)
        return _submit(self, CarriedContext().run, _with_cleanup, enter(call), fn, *args, **kwargs)

    threading.Thread.start = start  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign, assignment]


# Where OpenTelemetry is not installed, nothing here looks for spans.
IS_ON = is_there("opentelemetry.trace") and "tracecontext" in os.environ.get("OTEL_PROPAGATORS", "tracecontext,baggage")
# Characters; the specification asks for at least these.
MAX_TRACE_STATE = 512
_NAMES = ("traceparent", "tracestate")
# The functions below import OpenTelemetry when they are first called: setting Django up does not need it.


def parent_in(headers: Mapping[str, str]) -> Context | None:
    """Return the context of the span that a request names in its headers; None if it names none."""
    if not IS_ON or "traceparent" not in headers:
        return None
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    given = {name: value for name in _NAMES if (value := headers.get(name)) and len(value) <= MAX_TRACE_STATE}
    found = TraceContextTextMapPropagator().extract(given, Context())
    return found if trace.get_current_span(found).get_span_context().is_valid else None


def attach_parent(headers: Iterable[tuple[bytes, bytes]]) -> Token[Context] | None:
    """Make the span that an ASGI scope's headers name the current one; None if nothing was changed.

    An instrumentation of the server may have done so already, with a span of its own.
    """
    if not IS_ON:
        return None
    from opentelemetry import context as otel_context
    from opentelemetry import trace

    if trace.get_current_span().get_span_context().is_valid:
        return None
    given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers if name[:5] == b"trace"}
    parent = parent_in(given) if given else None
    return None if parent is None else otel_context.attach(parent)


def continue_trace(headers: Mapping[str, str]) -> None:
    """Make the span that `trace_headers` named, if any, the current one, to the end of the current task."""
    if (parent := parent_in(headers)) is not None:
        from opentelemetry import context as otel_context

        otel_context.attach(parent)


def detach_parent(token: Token[Context] | None) -> None:
    """Undo `attach_parent`."""
    if token is not None:
        from opentelemetry import context as otel_context

        otel_context.detach(token)


def trace_headers() -> dict[str, str]:
    """Return the headers that name the current span; empty without one."""
    headers: dict[str, str] = {}
    if IS_ON:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers
