"""What a host project sets around every tool, and restores: thread locals, a time zone, the schema of a connection.

A carrier is entered in the thread in which a tool's code runs: around a sync function, around each step of an async one
between two waits, and around what its own threads and pools run. So no other tool, and no other tenant's code in the
same thread, finds what was set.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
# A function of the tool's `ToolContext`.
Carrier = Callable[[Any], AbstractContextManager[object]]
Remove = Callable[[], None]

# Each returns a carrier, when the outermost tool of a call begins and in the thread that begins it.
captures: list[Callable[[], Carrier]] = []


def register_carrier(carrier: Carrier) -> Remove:
    """Enter a context manager around every tool from now on.

    Args:
        carrier: a function of the tool's context that returns a new context manager, such as one that is decorated with
            `contextlib.contextmanager`. It is called in the thread of the tool, on the event loop for async tools: it
            must not wait there. If it raises, before or after, the call fails.

    Returns:
        A function that removes the carrier.

    Raises:
        TypeError: it is no function.
    """
    if not callable(carrier):
        raise TypeError(f"A carrier is a function of the context, not a {type(carrier).__name__}.")
    return _register(lambda: carrier)


def carry(read: Callable[[], T], write: Callable[[T], object]) -> Remove:
    """Carry a value of the program's thread, such as a thread local, to the threads of its tools from now on.

    Args:
        read: returns the value. It is called where a tool is called, and in the tool's thread before it.
        write: sets the value, before the tool and, to what was there, after it.

    Returns:
        A function that ends this.

    Raises:
        TypeError: one of them is no function.
    """
    for option, function in {"read": read, "write": write}.items():
        if not callable(function):
            raise TypeError(f"{option} of carry must be a function, not {type(function).__name__}.")

    def capture() -> Carrier:
        value = read()

        @contextmanager
        def written(context: Any) -> Iterator[None]:
            before = read()
            write(value)
            try:
                yield
            finally:
                write(before)

        return written

    return _register(capture)


def _register(capture: Callable[[], Carrier]) -> Remove:
    captures.append(capture)

    def remove() -> None:
        if capture in captures:
            captures.remove(capture)

    return remove


def captured() -> tuple[Carrier, ...]:
    """Return the carriers of a call that begins here."""
    return tuple(capture() for capture in captures)


@contextmanager
def entered(carriers: tuple[Carrier, ...], context: Any) -> Iterator[None]:
    """Enter carriers, in their order. One that suppresses the tool's exception fails the call."""
    with ExitStack() as stack:
        for carrier in carriers:
            stack.enter_context(carrier(context))
        yield
        return
    raise RuntimeError("A carrier suppressed the exception of a tool.")


@types.coroutine
def stepped(
    coroutine: Coroutine[Any, Any, T], within: Callable[[], AbstractContextManager[None]]
) -> Generator[Any, Any, T]:
    """Run a coroutine, each step between two waits within a new context manager; return its value."""
    step: Callable[[], Any] = partial(coroutine.send, None)
    while True:
        with within():
            try:
                awaited = step()
            except StopIteration as end:
                value: T = end.value
                return value
        try:
            step = partial(coroutine.send, (yield awaited))
        except BaseException as exc:
            step = partial(coroutine.throw, exc)
