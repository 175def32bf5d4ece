"""A website whose pages tests set, and a reading of a source to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from assistant.contrib.sources.models import Source
from assistant.contrib.sources.services import fetching
from assistant.contrib.sources.services.refreshing import refresh
from assistant.toolkit.guards.internal_hosts import parse_internal_host
from tests.base import Cast

HTML = {"Content-Type": "text/html; charset=utf-8"}


class Website:
    """Pages by their paths: a status, headers and a body each; `asked` are the requests in their order."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        website = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                website.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                status, headers, body = website.pages.get(self.path, (404, {}, b""))
                if headers.get("ETag") and self.headers.get("If-None-Match") == headers["ETag"]:
                    status = 304
                    body = b""
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def page(self, path: str, title: str, text: str = "", *links: str, **headers: str) -> None:
        """Set a page of HTML with a title, a text and links."""
        leading = "".join(f'<a href="{link}">on</a>' for link in links)
        body = (
            f"<!doctype html><html><head><title>{title} | Acme</title></head><body><nav>Menu {leading}</nav>"
            f"<main><h1>{title}</h1><p>{text}</p></main><footer>Imprint</footer></body></html>"
        )
        self.pages[path] = (200, {**HTML, **headers}, body.encode())

    def file(self, path: str, body: bytes, media_type: str, **headers: str) -> None:
        """Set a file."""
        self.pages[path] = (200, {"Content-Type": media_type, **headers}, body)

    def paths(self) -> list[str]:
        """Return the paths that were asked for, and forget them."""
        found = [path for path, _headers in self.asked]
        self.asked.clear()
        return found


@pytest.fixture
def website(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Website]:
    site = Website()
    settings.ASSISTANT_INTERNAL_HOSTS = (parse_internal_host("127.0.0.1"),)
    monkeypatch.setattr(fetching, "PAUSE_SECONDS", 0.0)
    thread = Thread(target=site.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    site.server.shutdown()
    thread.join()
    site.server.server_close()


@pytest.fixture
def source(website: Website, cast: Cast) -> Source:
    """A website of Acme's."""
    return Source.objects.create(tenant=cast.acme, kind="website", place=f"{website.url}/docs/")


def read(source: Source) -> dict[str, int]:
    """Read a source, and return how many pages became what."""

    async def renew() -> bool:
        return True

    ended = asyncio.run(refresh(tenant_id=source.tenant_id, source_id=source.pk, renew=renew))
    source.refresh_from_db()
    return {} if ended is None else dict(ended.report["counts"])
