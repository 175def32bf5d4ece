"""A thousand open sockets on one process."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from benchmarks.load_client import WebSocketClient
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.figures import p95
from benchmarks.resilience.sites import SQLITE, Server, Site
from tests.fake_provider import FakeProvider

TITLE = "1,000 open sockets"
HOW = (
    "1,000 websockets of ten members, by session cookie, opened at one process 50 at a time; after a minute each must "
    "answer a ping. Memory is the process's proportional set size (PSS)."
)
SOCKETS, AT_ONCE, IDLE_SECONDS = 1000, 50, 60.0
FAILED, CONNECTED, MEMORY, DEAD = (
    "connections that failed",
    "slowest to connect",
    "memory of the process",
    "sockets that do not answer",
)
Connect = Callable[[Any], Coroutine[Any, Any, None]]
_PONG = re.compile(rb'"pong"')


def hang_up() -> None:
    """Every twentieth connection is closed as soon as it is open."""

    async def careless(self: Any, connect: Connect) -> None:
        await connect(self)
        await self.close(1011)

    _connect_otherwise(careless)


def refuse() -> None:
    """Every twentieth connection is refused."""

    async def careless(self: Any, connect: Connect) -> None:
        await self.close()

    _connect_otherwise(careless)


def keep_waiting() -> None:
    """Every twentieth connection waits six seconds."""

    async def careless(self: Any, connect: Connect) -> None:
        await asyncio.sleep(6)
        await connect(self)

    _connect_otherwise(careless)


def hoard() -> None:
    """Every twentieth connection takes 100 MB."""

    async def careless(self: Any, connect: Connect) -> None:
        self.hoard = b"x" * (100 * 2**20)
        await connect(self)

    _connect_otherwise(careless)


def _connect_otherwise(connect: Callable[[Any, Connect], Coroutine[Any, Any, None]]) -> None:
    from assistant.websocket.consumer import ChatConsumer

    proper, count = ChatConsumer.connect, itertools.count(1)

    async def careless(self: ChatConsumer) -> None:
        await (proper(self) if next(count) % 20 else connect(self, proper))

    ChatConsumer.connect = careless  # type: ignore[method-assign]


FAULTS = (
    Fault("every twentieth connection is closed at once", DEAD, hang_up),
    Fault("every twentieth connection is refused", FAILED, refuse),
    Fault("every twentieth connection waits six seconds", CONNECTED, keep_waiting),
    Fault("every twentieth connection takes 100 MB", MEMORY, hoard),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    with FakeProvider() as provider, testbed.site(SQLITE, provider.url) as site, testbed.serve(site) as server:
        return asyncio.run(_measure(testbed, site, server))


async def _measure(testbed: Testbed, site: Site, server: Server) -> Sequence[Line]:
    count, turn = testbed.scaled(SOCKETS), asyncio.Semaphore(AT_ONCE)

    async def connect(number: int) -> tuple[WebSocketClient | None, float]:
        async with turn:
            start = time.monotonic()
            try:
                return await _open(site, server, number), time.monotonic() - start
            except (OSError, TimeoutError):
                return None, time.monotonic() - start

    opened = await asyncio.gather(*(connect(number) for number in range(count)))
    sockets = [socket for socket, _ in opened if socket is not None]
    seconds = [took for _, took in opened]
    await asyncio.sleep(IDLE_SECONDS if testbed.fault is None else 1)
    memory = server.process.memory() / 2**20
    alive = await asyncio.gather(*(_is_alive(socket) for socket in sockets))
    for socket in sockets:
        socket.close()
    return [
        Line(FAILED, count - len(sockets), "", 0, beside=f"of {count}"),
        Line(CONNECTED, max(seconds), "s", 5, beside=f"p95 {p95(seconds):.2f} s"),
        Line(MEMORY, memory, "MB", 300),
        Line(DEAD, len(sockets) - sum(alive), "", 0, beside=f"after {IDLE_SECONDS:.0f} s"),
    ]


async def _open(site: Site, server: Server, number: int) -> WebSocketClient:
    session = site.sessions[number % len(site.sessions)]
    headers = {"Cookie": f"sessionid={session}", "Origin": server.url}
    return await WebSocketClient.open(f"ws://127.0.0.1:{server.port}/ws/bench/support/", headers)


async def _is_alive(socket: WebSocketClient) -> bool:
    if socket.closed.done():
        return False
    waiting = asyncio.ensure_future(socket.until(_PONG))
    await asyncio.sleep(0)
    socket.send(json.dumps({"type": "ping"}))
    try:
        await asyncio.wait_for(waiting, 30)
    except (ConnectionError, TimeoutError):
        return False
    return True
