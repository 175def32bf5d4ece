"""The mixin that tells a project whether its own pages are as they were: right ones pass, and each fault is found."""

from __future__ import annotations

import asyncio
import logging
import unittest
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponse
from django.test import TestCase, override_settings
from django.urls import path

from assistant.testing import GuestTestMixin

pytestmark = pytest.mark.apps
urlpatterns = [path("orders/", lambda request: HttpResponse("Orders"))]
Application = Callable[[Any, Any, Any], Any]


def asks_who_is_there(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware with a query for every page; its name stands for one of the assistant's."""

    def answered(request: HttpRequest) -> HttpResponse:
        get_user_model().objects.exists()
        return get_response(request)

    return answered


def marked(application: Application) -> Application:
    """Adds a header to every answer."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        async def send_marked(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-mark", b"1")]
            await send(message)

        await application(scope, receive, send_marked)

    return serve


def logged(application: Application) -> Application:
    async def serve(scope: Any, receive: Any, send: Any) -> None:
        logging.getLogger("assistant.access").info("%s", scope["path"])
        await application(scope, receive, send)

    return serve


def bounded(application: Application) -> Application:
    """Refuses bodies above a mebibyte."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if int(dict(scope["headers"]).get(b"content-length", b"0")) > 2**20:
            await send({"type": "http.response.start", "status": 413, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await application(scope, receive, send)

    return serve


def narrow(application: Application) -> Application:
    """Has 16 places."""
    places = asyncio.Semaphore(16)

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        async with places:
            await application(scope, receive, send)

    return serve


class Guest(GuestTestMixin, TestCase):
    __test__ = False  # run by the tests below
    own_pages = ("/orders/",)

    def own_user(self) -> User:
        return User.objects.create_user("ann")


def failed(**attributes: Any) -> list[str]:
    """Run the tests of a project; return the names of those that failed."""
    case = type("Case", (Guest,), attributes)
    found = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(found)
    assert found.testsRun == 4
    return sorted({str(getattr(one, "test_case", one)).split()[0] for one, _ in (*found.failures, *found.errors)})


@pytest.fixture(autouse=True)
def _project(db: None, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ]


def test_a_project_with_the_assistant_passes() -> None:
    assert failed() == []


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (marked, "test_own_pages_have_no_further_headers_and_log_lines"),
        (logged, "test_own_pages_have_no_further_headers_and_log_lines"),
        (bounded, "test_own_pages_take_bodies_as_large"),
        (narrow, "test_as_many_own_pages_are_answered_at_once"),
    ],
)
def test_each_fault_of_an_application_is_found(
    fault: Callable[[Application], Application], test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.testing.guest.WAIT_SECONDS", 1)
    assert failed(application=staticmethod(fault(ASGIHandler()))) == [test]


def test_a_query_of_a_middleware_is_found(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.testing.guest.OWN", "tests.testing.")
    with override_settings(MIDDLEWARE=[*settings.MIDDLEWARE, f"{__name__}.asks_who_is_there"]):
        assert failed() == ["test_own_pages_make_no_further_queries"]
