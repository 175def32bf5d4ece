"""`assistant_check --url` asks each address that a project has, in every language of its addresses."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from django.urls import clear_url_caches
from pytest_django.fixtures import Settings

from assistant.contrib.deploy.outside import outside_findings


class Deaf(BaseHTTPRequestHandler):
    """Knows no address, and keeps what it was asked for."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def deaf() -> Iterator[ThreadingHTTPServer]:
    Deaf.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Deaf)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("urls", "apis", "pages"),
    [
        ("tests.asgi.guests.together", ("/en/help/", "/de/help/"), ("/en/help/", "/de/help/")),
        ("tests.asgi.guests.apart", ("/apis/",), ("/en/help/", "/de/help/")),
    ],
)
def test_every_language_is_asked(
    settings: Settings, deaf: ThreadingHTTPServer, urls: str, apis: tuple[str, ...], pages: tuple[str, ...]
) -> None:
    settings.ROOT_URLCONF = urls
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    clear_url_caches()
    findings = [*outside_findings(f"http://127.0.0.1:{deaf.server_address[1]}")]
    clear_url_caches()
    assert {f"{mount}accounts/login/" for mount in pages} <= {*Deaf.asked}
    for name in ("readyz", "metrics", "ws/-/-/"):
        assert {path for path in Deaf.asked if path.endswith(f"/{name}")} == {f"{mount}{name}" for mount in apis}
    assert len([one for one in findings if one.part == "Content-Security-Policy"]) == len(pages)
