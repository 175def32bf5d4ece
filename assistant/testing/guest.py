"""`GuestTestMixin`: the pages of a project are served as they are without the assistant."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import unittest
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_started
from django.db import connections
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from assistant.routing import with_assistant
from assistant.testing.database import share_connections

if TYPE_CHECKING:
    from unittest import TestCase as Base
else:  # Test runners would run the tests of a test case that a module only imports.
    Base = object

# How many requests of a page have to be at work at once, and for how long each waits for the others.
TOGETHER = 64
WAIT_SECONDS = 20
# What the names of our middleware begin with.
OWN = "assistant."
LARGE_BYTES = 20 * 1024 * 1024


# What differs between two queries of the same kind begins here: values, and names of savepoints.
_VALUES = re.compile(r' (?:WHERE|SET|VALUES) |(?<=SAVEPOINT) "?s')


class _Served(NamedTuple):
    """What is compared of a page: its status, the names of its headers, and the log lines, by logger and level."""

    status: int
    headers: frozenset[str]
    lines: Counter[tuple[str, str]]


class GuestTestMixin(Base):
    """A mixin for `TestCase`, to be named before it: your own pages are as they are without the assistant.

    Each page of `own_pages` is asked with the assistant and without its middleware and its ASGI application. With it a
    page must have no other status, no more queries, headers and log lines, take bodies as large, and be answered as
    often at once.

    Attributes:
        own_pages: addresses of your pages, which are asked by GET.
        application: your ASGI application; default your site with the assistant, as `with_assistant` returns it.
    """

    own_pages: Sequence[str] = ("/",)
    application: Any = None

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        with share_connections():
            return super().run(result)

    def own_user(self) -> Any:
        """Return the user who asks, or None for somebody who is not signed in; called once in each test."""
        return None

    def test_own_pages_make_no_further_queries(self) -> None:
        """With the assistant's middleware a page makes the same queries."""
        user = self.own_user()
        for page in self.own_pages:
            with self.subTest(page=page):
                ours = _queries_of(page, user)
                with _without_assistant():
                    own = _queries_of(page, user)
                extra = Counter(ours) - Counter(own)
                self.assertFalse(extra, f"{page} makes {extra.total()} more queries: {sorted(extra)}")

    def test_own_pages_have_no_further_headers_and_log_lines(self) -> None:
        """With the assistant a page has the same status, headers and log lines."""
        cookies = _cookies_of(self.own_user())
        for page in self.own_pages:
            with self.subTest(page=page):
                ours, own = self._both(page, cookies)
                self.assertEqual(ours.status, own.status, f"{page} answers {ours.status} with the assistant")
                self.assertLessEqual(ours.headers, own.headers, f"{page} has more headers")
                self.assertFalse(ours.lines - own.lines, f"{page} is logged more often")

    def test_own_pages_take_bodies_as_large(self) -> None:
        """A body of 20 MiB comes to the same end with the assistant."""
        cookies = _cookies_of(self.own_user())
        for page in self.own_pages:
            with self.subTest(page=page):
                ours, own = self._both(page, cookies, body=bytes(LARGE_BYTES))
                self.assertEqual(ours.status, own.status, f"{page} answers a large body with {ours.status}")

    def test_as_many_own_pages_are_answered_at_once(self) -> None:
        """64 requests of one page are at work at the same time, each in a thread of its own."""
        page = self.own_pages[0]
        meeting = threading.Barrier(TOGETHER)

        def meet(**kwargs: Any) -> None:
            meeting.wait(WAIT_SECONDS)

        request_started.connect(meet)
        try:
            _ask(self._application, [page] * TOGETHER, _cookies_of(self.own_user()))
        except threading.BrokenBarrierError:
            self.fail(f"Fewer than {TOGETHER} requests of {page} are at work at once.")
        finally:
            request_started.disconnect(meet)

    @property
    def _application(self) -> Any:
        return self.application or with_assistant(ASGIHandler())

    def _both(self, page: str, cookies: str, body: bytes = b"") -> tuple[_Served, _Served]:
        """Return what a page is with the assistant, and without."""
        ours = _served(self._application, page, cookies, body)
        with _without_assistant():
            return ours, _served(ASGIHandler(), page, cookies, body)


@contextmanager
def _without_assistant() -> Iterator[None]:
    own = [name for name in settings.MIDDLEWARE if not name.startswith(OWN)]
    with override_settings(MIDDLEWARE=own):
        yield


def _cookies_of(user: Any) -> str:
    if user is None:
        return ""
    client = Client()
    client.force_login(user)
    return "; ".join(f"{name}={cookie.value}" for name, cookie in client.cookies.items())


def _queries_of(page: str, user: Any) -> list[str]:
    client = Client()
    if user is not None:
        client.force_login(user)
    client.get(page)  # what is kept from a first request on is there
    with ExitStack() as stack:
        captured = [stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in connections]
        client.get(page)
    return [_VALUES.split(query["sql"])[0] for one in captured for query in one.captured_queries]


def _served(application: Any, page: str, cookies: str, body: bytes) -> _Served:
    _ask(application, [page], cookies)
    with _captured_lines() as lines:
        (answer,) = _ask(application, [page], cookies, body)
    return _Served(answer.status_code, frozenset(answer.headers), lines)


def _ask(application: Any, pages: Sequence[str], cookies: str, body: bytes = b"") -> list[httpx2.Response]:
    """Ask an application for pages at the same time; by POST with a body, else by GET."""
    host = next((name for name in settings.ALLOWED_HOSTS if name.strip(".*")), "localhost").lstrip(".")
    headers = {"Cookie": cookies} if cookies else {}

    async def ask() -> list[httpx2.Response]:
        transport = httpx2.ASGITransport(application)
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers) as client:
            method = "POST" if body else "GET"
            return await asyncio.gather(*(client.request(method, page, content=body) for page in pages))

    # Not `async_to_sync`, which would run all of them in this thread, one after the other.
    return asyncio.run(ask())


@contextmanager
def _captured_lines() -> Iterator[Counter[tuple[str, str]]]:
    """Count what is logged at INFO and above."""
    lines: Counter[tuple[str, str]] = Counter()

    class Counting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines[record.name, record.levelname] += 1

    handler = Counting(logging.INFO)
    loggers = [logging.getLogger(name) for name in ("", "assistant", "django")]
    levels = [logger.level for logger in loggers]
    root = loggers[0]
    root.addHandler(handler)
    for logger in loggers:
        logger.setLevel(logging.INFO)
        if logger is not root and not logger.propagate:
            logger.addHandler(handler)
    try:
        yield lines
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
