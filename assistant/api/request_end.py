"""Closes what a request has opened when the request ends.

If a client disconnects while a response passes through the middleware, Django cancels the request and drops the
response without closing it. Its generator would stay open until the garbage collector runs. From Django 6.1 on that is
late, because the cancelled frames refer to each other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from contextvars import ContextVar
from typing import Any

_stack: ContextVar[AsyncExitStack | None] = ContextVar("request_end_callbacks", default=None)


def at_request_end(close: Callable[[], Awaitable[object]]) -> None:
    """Call `close` when the current request ends. `close` must do nothing if it was called before.

    Does nothing outside an application wrapped by `with_request_end`, such as under WSGI.
    """
    stack = _stack.get()
    if stack is not None:
        stack.push_async_callback(close)


def with_request_end(application: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Wrap an ASGI application so that the callbacks of `at_request_end` run after each request, in reverse order."""

    async def answer(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        async with AsyncExitStack() as stack:
            token = _stack.set(stack)
            try:
                await application(scope, receive, send)
            finally:
                _stack.reset(token)

    return answer
