"""The guarded HTTP client, against real servers on the loopback."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import httpx2
import pytest

from assistant.toolkit.guards.guarded_http import ResponseTooLong, guarded_client
from assistant.toolkit.guards.url_guard import UrlGuard


class Web(ThreadingHTTPServer):
    """Answers by path, and records the requests with their Host header."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str]] = []
        self.redirect_to = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Web

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Host"]))
        headers, body = {
            "/redirect": ({"Location": self.server.redirect_to}, b""),
            "/huge": ({}, b"x" * 5000),
            "/events": ({"Content-Type": "text/event-stream"}, b"data: x\n\n" * 1000),
            "/failed events": ({"Content-Type": "text/event-stream"}, b"data: x\n\n" * 1000),
            "/lists": ({}, b"[" + b"[]," * 500 + b"[]]"),
            "/short events": ({"Content-Type": "text/event-stream"}, b"data: [[],[],[]]\n\n" * 500),
            "/long event": ({"Content-Type": "text/event-stream"}, b"data: [" + b"[]," * 500 + b"[]]\n\n"),
            "/packed": ({"Content-Encoding": "gzip"}, gzip.compress(b"x" * 5000)),
        }.get(unquote(self.path), ({}, b"hello"))
        self.send_response({"/redirect": 302, "/failed%20events": 400}.get(self.path, 200))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def get(url: str, guard: UrlGuard | None = None, **options: object) -> httpx2.Response:
    guard = guard or UrlGuard(allow_loopback=True)
    async with guarded_client(guard, max_bytes=1000, follow_redirects=True, **options) as client:
        return await client.get(url)


async def test_allowed_urls_are_opened(web: Web) -> None:
    assert (await get(f"{web.url}/a")).text == "hello"


async def test_forbidden_urls_are_not_connected_to(web: Web) -> None:
    with pytest.raises(httpx2.ConnectError, match="https"):
        await get(f"{web.url}/a", UrlGuard())
    assert web.asked == []


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/", "https://10.0.0.1/", "file:///etc/passwd"])
async def test_every_redirect_is_checked(web: Web, target: str) -> None:
    web.redirect_to = target
    with pytest.raises((httpx2.ConnectError, httpx2.UnsupportedProtocol)):
        await get(f"{web.url}/redirect")


async def test_a_trusted_server_cannot_redirect_to_another_internal_address(web: Web) -> None:
    with Web() as other:
        web.redirect_to = f"{other.url}/secret"
        with pytest.raises(httpx2.ConnectError):
            await get(f"{web.url}/redirect", UrlGuard(trusted=[web.url]))
        assert other.asked == []


async def test_the_connection_goes_to_the_address_that_was_checked(web: Web) -> None:
    """A name that changes its address between the check and the connection (DNS rebinding)."""
    lookups: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        lookups.append(host)
        return ["127.0.0.1"] if len(lookups) == 1 else ["169.254.169.254"]

    guard = UrlGuard(trusted=[f"http://rebinding.example:{web.server_port}"], resolve=resolve)
    answer = await get(f"http://rebinding.example:{web.server_port}/a", guard)
    assert answer.text == "hello"
    assert lookups == ["rebinding.example"]
    assert web.asked == [("/a", f"rebinding.example:{web.server_port}")]


async def test_a_name_that_later_resolves_to_an_internal_address_is_refused(web: Web) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    with pytest.raises(httpx2.ConnectError, match="private"):
        await get(f"https://innocent.example:{web.server_port}/a", UrlGuard(resolve=resolve))
    assert web.asked == []


async def test_the_next_address_is_tried_when_one_does_not_answer(web: Web) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.2" if host == "two.example" else "127.0.0.1", "127.0.0.1"]

    url = f"http://two.example:{web.server_port}"
    assert (await get(f"{url}/a", UrlGuard(trusted=[url], resolve=resolve))).text == "hello"


async def test_a_name_without_addresses_is_a_connection_error() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(httpx2.ConnectError):
        await get("https://nowhere.example/", UrlGuard(resolve=resolve))


async def test_a_response_that_is_too_long_is_refused(web: Web) -> None:
    with pytest.raises(httpx2.ReadError, match="1,000 bytes"):
        await get(f"{web.url}/huge")
    assert len((await get(f"{web.url}/events")).content) == 9000
    with pytest.raises(httpx2.ReadError, match="1,000 bytes"):
        await get(f"{web.url}/failed events")


async def test_a_compressed_response_is_refused(web: Web) -> None:
    with pytest.raises(httpx2.DecodingError):
        await get(f"{web.url}/packed")


async def test_the_environments_proxy_is_not_used(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert (await get(f"{web.url}/a")).text == "hello"


@pytest.mark.parametrize(("path", "is_read"), [("lists", False), ("long event", False), ("short events", True)])
async def test_the_json_values_of_a_response_and_of_an_event_are_limited(web: Web, path: str, is_read: bool) -> None:
    async with guarded_client(UrlGuard(allow_loopback=True), max_values=400) as client:
        asked = client.get(f"{web.url}/{path}")
        if is_read:
            assert len((await asked).content) == 9_000
            return
        with pytest.raises(ResponseTooLong, match="400 values"):
            await asked
