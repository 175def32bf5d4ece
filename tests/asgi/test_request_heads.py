"""A request's head is bounded in size and time, on the server itself, without a proxy."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress

import pytest
import uvicorn

from assistant.asgi.request_heads import MAX_HEAD, OPTION, BoundedHeads
from tests.base import Cast
from tests.live import Server, serve
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)

GET = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"
CHUNKED = b"POST /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n"
MOST = 4 * 1024 * 1024


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=30)


def pushed(client: socket.socket, piece: bytes) -> int:
    """Send a piece again and again until the server closes, at most `MOST` bytes; return how many it took."""
    taken = 0
    with suppress(ConnectionError):
        while taken < MOST:
            taken += client.send(piece)
    return taken


def answer(client: socket.socket) -> bytes:
    with suppress(ConnectionError):
        return client.recv(4096)
    return b""


def wait_for_answers(client: socket.socket, count: int) -> None:
    """Read whole answers of `/healthz`."""
    said = b""
    while said.count(b"\r\n0\r\n\r\n") < count:
        said += client.recv(4096)
    assert said.count(b"HTTP/1.1 200 ") == count


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"GET /", b"a" * 8_000),
        (GET + b"x: ", b"a" * 8_000),
        (GET, b"x: " + b"a" * 4_000 + b"\r\n"),
        (CHUNKED + b"1;", b"a" * 8_000),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"x: " + b"a" * 4_000 + b"\r\n"),
    ],
    ids=["path", "header", "headers", "extension of a chunk", "trailers"],
)
def test_a_head_without_end_is_not_read_on(uvicorn_server: Server, start: bytes, piece: bytes) -> None:
    with connected(uvicorn_server) as client:
        client.sendall(start)
        assert pushed(client, piece) < MOST


def test_one_in_a_single_piece_is_refused(uvicorn_server: Server) -> None:
    with connected(uvicorn_server) as client:
        client.sendall(GET + b"x: " + b"a" * MAX_HEAD + b"\r\n\r\n")
        assert answer(client).startswith(b"HTTP/1.1 431 ")


def test_ordinary_requests_are_answered(uvicorn_server: Server) -> None:
    with connected(uvicorn_server) as client:
        for _ in range(3):
            client.sendall(GET + b"x: " + b"a" * (MAX_HEAD - 1_000) + b"\r\n\r\n")
            wait_for_answers(client, 1)
    with connected(uvicorn_server) as client:
        body = b"".join(b"1\r\nx\r\n" for _ in range(20_000)) + b"0\r\n\r\n"
        client.sendall(CHUNKED.replace(b"POST /healthz", b"POST /accounts/login/") + body)
        assert not answer(client).startswith(b"HTTP/1.1 431 ")


def test_two_requests_at_once_are_both_answered(uvicorn_server: Server) -> None:
    with connected(uvicorn_server) as client:
        client.sendall((GET + b"\r\n") * 2)
        wait_for_answers(client, 2)


async def test_a_websocket_opens(uvicorn_server: Server, cast: Cast) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as client:
        await client.send(json.dumps({"type": "ping"}))
        await client.until_custom("pong")


class Hasty(BoundedHeads):
    """Waits for a head for so short a time that a test can."""

    head_seconds = 0.2


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTT", GET, b"\r\n"], ids=str)
async def test_a_head_that_does_not_come_ends_the_connection(sent: bytes) -> None:
    async def application(scope: object, receive: object, send: object) -> None:
        raise AssertionError("no request is complete")

    server = uvicorn.Server(uvicorn.Config(application, port=0, http=Hasty, lifespan="off", log_config=None))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    async with asyncio.timeout(20):
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
    writer.close()
    server.should_exit = True
    await serving


def test_a_server_without_the_bound_says_so_at_its_start(cast: Cast) -> None:
    with serve(options=("--http", "httptools")) as server:
        assert OPTION in server.log
    with serve() as server:
        assert OPTION not in server.log
