"""Websocket frames that are far too large."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from assistant.core.values.frame_sizes import MAX_SERVER_FRAME
from benchmarks.load_client import WebSocketClient
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.sites import SQLITE, Server, Site
from tests.fake_provider import FakeProvider

TITLE = "Websocket frames without end"
CLIENTS, LARGE = 30, 15 * 2**20
HOW = (
    f"{CLIENTS} connections each send a frame of {MAX_SERVER_FRAME // 1024} KiB, the largest that the server takes, "
    f"without its last byte; {CLIENTS} others a frame of {LARGE // 2**20} MB in the same way, and each must be closed "
    "with 1009. Then a process is started with uvicorn's own bound of 16 MB, and must say so."
)
GROWTH, OPEN, SILENT = (
    "growth of memory",
    "connections with a frame that is too large and not closed with 1009",
    "processes without the bound that did not say so",
)
PATIENCE_SECONDS = 5.0
MESSAGE_TOO_BIG = 1009


def take_frames_of_16_mb() -> None:
    """The server has uvicorn's own bound."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    begin = WebSocketsSansIOProtocol.connection_made

    def unbounded(self: WebSocketsSansIOProtocol, transport: asyncio.BaseTransport) -> None:
        self.conn.max_message_size = 16 * 2**20
        begin(self, transport)

    WebSocketsSansIOProtocol.connection_made = unbounded  # type: ignore[method-assign]


def close_nothing() -> None:
    """The server reads no more of a frame that is too large, but keeps the connection."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    WebSocketsSansIOProtocol.handle_parser_exception = lambda self: None  # type: ignore[method-assign]


def check_no_server() -> None:
    """Nobody looks at the server's bound at its start."""
    from assistant.asgi import lifespan

    lifespan.check_server = lambda receive: None  # type: ignore[attr-defined]


FAULTS = (
    Fault("the server takes frames of 16 MB", GROWTH, take_frames_of_16_mb),
    Fault("the server keeps connections with a frame that is too large", OPEN, close_nothing),
    Fault("the server's bound is not looked at", SILENT, check_no_server),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    with FakeProvider() as provider, testbed.site(SQLITE, provider.url) as site:
        with testbed.serve(site) as server:
            lines = asyncio.run(_measure(site, server))
        with testbed.serve(site, options=("--ws-max-size", str(16 * 2**20))) as unbounded:
            is_silent = f"--ws-max-size {MAX_SERVER_FRAME}" not in unbounded.log()
    return [*lines, Line(SILENT, int(is_silent), "", 0)]


async def _measure(site: Site, server: Server) -> Sequence[Line]:
    clients = [await _open(site, server, number) for number in range(2 * CLIENTS)]
    before = await asyncio.to_thread(server.process.settled_memory)
    within, beyond = clients[:CLIENTS], clients[CLIENTS:]
    for client in within:
        _send_almost(client, MAX_SERVER_FRAME)
    peak = await _peak(server)
    held = (peak - before) / 2**20
    for client in beyond:
        _send_almost(client, LARGE)
    peak = max(peak, await _peak(server))
    kept = sum(client.closed.done() for client in within)
    refused = sum(client.close_code == MESSAGE_TOO_BIG for client in beyond)
    for client in clients:
        client.transport.abort()
    beside = f"{held:.1f} MB with the frames within the bound, of which {kept} were closed"
    return [
        Line(GROWTH, (peak - before) / 2**20, "MB", 25, beside=beside),
        Line(OPEN, len(beyond) - refused, "", 0, beside=f"of {len(beyond)}"),
    ]


async def _peak(server: Server) -> int:
    """Return the most memory that the process has while it reads what was sent."""
    peak, loop = 0, asyncio.get_running_loop()
    ends_at = loop.time() + PATIENCE_SECONDS
    while loop.time() < ends_at:
        peak = max(peak, server.process.memory())
        await asyncio.sleep(0.05)
    return peak


def _send_almost(client: WebSocketClient, size: int) -> None:
    """Send a text frame of so many bytes, without the last."""
    client.transport.write(b"\x81\xff" + size.to_bytes(8, "big") + b"\0\0\0\0" + b"x" * (size - 1))


async def _open(site: Site, server: Server, number: int) -> WebSocketClient:
    headers = {"Authorization": f"Bearer {site.keys[number % len(site.keys)]}"}
    return await WebSocketClient.open(f"ws://127.0.0.1:{server.port}/ws/bench/support/", headers)
