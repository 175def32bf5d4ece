"""The bodies of requests, at every address of a real server: how large they may be, and how slow."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings

from assistant.asgi.body_limits import with_bounded_bodies
from assistant.asgi.body_sizes import size_bound
from assistant.services.tenancy.members import create_api_key
from tests.asgi.quick_body_settings import RATE
from tests.base import Cast
from tests.live import Server, serve

pytestmark = pytest.mark.django_db(transaction=True)

EVERYWHERE = (
    "/healthz", "/readyz", "/metrics", "/", "/admin/login/", "/admin/assistant/prompt/add/", "/accounts/login/",
    "/docs/", "/docs/search/", "/static/assistant/chat.css", "/t/acme/", "/mcp/", "/ws/acme/support/", "/nowhere/",
    "/api/v1/tenants/acme/conversations/", "/v1/chat/completions",
)  # fmt: skip
UPLOAD = "/admin/assistant/document/add/"


@pytest.fixture(scope="module")
def quick(django_db_setup: None) -> Iterator[Server]:
    """A server that does not wait long."""
    with serve(
        env={
            "DJANGO_SETTINGS_MODULE": "tests.asgi.quick_body_settings",
            "ASSISTANT_UPLOAD_PATHS": "/nowhere/",
        }
    ) as server:
        yield server


def scope(path: str) -> dict[str, object]:
    return {"type": "http", "path": path, "headers": []}


# Addresses that answer without reading a body, so that none is held.
READ_NOTHING = {"/ws/acme/support/": 426, "/mcp/": 401}


@pytest.mark.parametrize("is_declared", [True, False], ids=["declared", "chunked"])
@pytest.mark.parametrize("path", EVERYWHERE)
def test_a_body_that_is_too_large_is_a_413(path: str, is_declared: bool, uvicorn_server: Server, cast: Cast) -> None:
    body = b"x" * (size_bound(scope(path)) + 1)
    answer = httpx2.post(uvicorn_server.url + path, content=body if is_declared else pieces(body), timeout=30)
    assert answer.status_code == (413 if is_declared or path not in READ_NOTHING else READ_NOTHING[path])
    assert answer.headers["Connection"] == "close"


def pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 65536):
        yield body[start : start + 65536]


def test_the_largest_body_is_read(uvicorn_server: Server, cast: Cast) -> None:
    body = b"x" * settings.ASSISTANT_MAX_BODY_BYTES
    for content in (body, pieces(body)):
        answer = httpx2.post(f"{uvicorn_server.url}/healthz", content=content, timeout=30)
        assert answer.status_code == 405
        assert "Connection" not in answer.headers


@pytest.mark.parametrize("is_declared", [True, False], ids=["declared", "chunked"])
def test_more_is_read_where_files_are_uploaded(is_declared: bool, uvicorn_server: Server, cast: Cast) -> None:
    for size, status in ((settings.ASSISTANT_MAX_BODY_BYTES + 1, 403), (settings.ASSISTANT_MAX_UPLOAD_BYTES + 1, 413)):
        body = b"x" * size
        answer = httpx2.post(uvicorn_server.url + UPLOAD, content=body if is_declared else pieces(body), timeout=30)
        # 403: there is no CSRF token.
        assert answer.status_code == status


@pytest.mark.parametrize(
    ("path", "bound"),
    [
        (UPLOAD, "ASSISTANT_MAX_UPLOAD_BYTES"),
        ("/v1/chat/completions", "ASSISTANT_MAX_UPLOAD_BYTES"),
        ("/v1/responses", "ASSISTANT_MAX_UPLOAD_BYTES"),
        ("/api/v1/tenants/acme/assistants/support/runs/", "ASSISTANT_MAX_UPLOAD_BYTES"),
        ("/admin/assistant/document/7/change/", "ASSISTANT_MAX_UPLOAD_BYTES"),
        ("/admin/assistant/document/", "ASSISTANT_MAX_BODY_BYTES"),
        ("/admin/assistant/document/7/delete/", "ASSISTANT_MAX_BODY_BYTES"),
        ("/admin/assistant/assistant/add/", "ASSISTANT_MAX_BODY_BYTES"),
        ("/uploads/7/", "ASSISTANT_MAX_UPLOAD_BYTES"),
        ("/t/acme/uploads/", "ASSISTANT_MAX_BODY_BYTES"),
    ],
)
def test_files_are_uploaded_at_few_addresses(path: str, bound: str, settings: pytest.Settings) -> None:
    settings.ASSISTANT_UPLOAD_PATHS = ["/uploads/"]
    assert size_bound(scope(path)) == getattr(settings, bound)


@pytest.mark.parametrize(
    ("version", "length", "is_closed"), [("1.1", b"5", True), ("1.1", b"0", False), ("2", b"5", False)]
)
async def test_an_early_response_closes_connections_of_http_1(version: str, length: bytes, is_closed: bool) -> None:
    async def early(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": [(b"x", b"y")]})
        await send({"type": "http.response.body", "body": b"no"})

    given = {**scope("/"), "http_version": version, "headers": [(b"content-length", length)]}
    talk = ApplicationCommunicator(with_bounded_bodies(early), given)
    await talk.send_input({"type": "http.request", "body": b"x" * int(length)})
    start = await talk.receive_output()
    assert ((b"connection", b"close") in start["headers"]) is is_closed
    parts = [await talk.receive_output()]
    while parts[-1].get("more_body"):
        parts.append(await talk.receive_output())
    await talk.wait()
    assert b"".join(part["body"] for part in parts) == b"no"


class Connection:
    """One request over a plain socket, whose body is sent piece by piece."""

    def __init__(self, server: Server, path: str, *headers: str) -> None:
        parts = urlsplit(server.url)
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=30)
        lines = (f"POST {path} HTTP/1.1", f"Host: {parts.netloc}", *headers, "", "")
        self._socket.sendall("\r\n".join(lines).encode())

    def send(self, piece: bytes) -> bool:
        """Send bytes of the body; return whether the connection is open."""
        try:
            self._socket.sendall(piece)
        except OSError:
            return False
        return True

    def answer(self) -> bytes:
        """All that the server sends until it closes the connection."""
        with self._socket:
            return b"".join(iter(lambda: self._socket.recv(65536), b""))

    def has_answer(self) -> bool:
        self._socket.settimeout(0.001)
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            return False
        finally:
            self._socket.settimeout(30)


@pytest.mark.parametrize("path", ["/healthz", "/admin/login/", UPLOAD, "/v1/chat/completions", "/nowhere/"])
def test_a_body_without_a_byte_for_long_ends(path: str, quick: Server, cast: Cast) -> None:
    connection = Connection(quick, path, "Content-Length: 1000")
    connection.send(b"x")
    answer = connection.answer()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer


def test_a_body_ends_where_the_mcp_sdk_reads_it(quick: Server, cast: Cast) -> None:
    key = create_api_key(tenant=cast.acme, user=cast.alice, name="k")[1]
    headers = ("Content-Type: application/json", "Accept: application/json, text/event-stream")
    connection = Connection(quick, "/mcp/", f"Authorization: Bearer {key}", "Content-Length: 1000", *headers)
    assert connection.answer().startswith(b"HTTP/1.1 408 ")


def test_a_body_that_drips_ends(quick: Server, cast: Cast) -> None:
    connection = Connection(quick, "/healthz", "Content-Length: 1000000")
    sent = 0
    while not connection.has_answer() and connection.send(b"x"):
        sent += 1
        time.sleep(0.05)
    assert connection.answer().startswith(b"HTTP/1.1 408 ")
    assert 0 < sent < 1000


def test_a_slow_body_above_the_rate_is_read(quick: Server, cast: Cast) -> None:
    count = 20
    connection = Connection(quick, "/healthz", f"Content-Length: {count * RATE}", "Connection: close")
    for _ in range(count):
        assert connection.send(b"x" * RATE)
        time.sleep(0.1)
    assert connection.answer().startswith(b"HTTP/1.1 405 ")


def test_refusals_have_the_form_of_their_address(quick: Server, cast: Cast) -> None:
    body = b"x" * (settings.ASSISTANT_MAX_UPLOAD_BYTES + 1)
    found = {}
    for path in ("/api/v1/tenants/acme/conversations/", "/v1/chat/completions", "/nowhere/"):
        found[path] = httpx2.post(quick.url + path, content=body, timeout=30)
    api, openai, page = found.values()
    assert api.json() == {"code": "too_large", "message": "A body holds at most 262144 bytes.", "fields": {}}
    assert openai.json()["error"]["code"] == "too_large"
    assert openai.json()["error"]["message"] == f"A body holds at most {settings.ASSISTANT_MAX_UPLOAD_BYTES} bytes."
    assert page.text == f"A body holds at most {settings.ASSISTANT_MAX_UPLOAD_BYTES} bytes."


def test_nothing_is_stored_of_what_is_refused(uvicorn_server: Server, cast: Cast) -> None:
    """Django stores bodies of more than 2.5 MB in files without a name."""
    connection = Connection(uvicorn_server, "/healthz", "Transfer-Encoding: chunked")
    most, piece = 0, b"10000\r\n" + b"x" * 65536 + b"\r\n"
    for _ in range(400):
        if not connection.send(piece):
            break
        most = max(most, stored(uvicorn_server.process.pid))
    assert connection.answer().startswith(b"HTTP/1.1 413 ")
    assert most <= settings.ASSISTANT_MAX_BODY_BYTES


def stored(pid: int) -> int:
    """The bytes in files that a process holds open and that have no name."""
    total = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if entry.readlink().name.endswith("(deleted)"):
                total += entry.stat().st_size
        except OSError:
            continue
    return total
