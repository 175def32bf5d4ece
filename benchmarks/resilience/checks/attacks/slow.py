"""Clients that stop reading during a long answer."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from benchmarks.load_client import WebSocketClient
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import run_input, shown
from benchmarks.resilience.figures import p95
from benchmarks.resilience.sites import SQLITE, Server, Site
from tests.fake_answers import Answer, Recorded, chunk, event, reply
from tests.fake_provider import FakeProvider

TITLE = "Clients that stop reading"
HOW = (
    "50 clients of one member attach to one run whose answer has 8 MB, and read nothing of it; 10 others, of all "
    "members, read answers of 20 tokens a second before and meanwhile. One process, log in memory. Its growth is the "
    "memory after the 8 MB are written, less that of one run with one reader. In the end the 50 clients read on, and "
    "what they show is compared with the answer, byte for byte."
)
CLIENTS, OTHERS, MEGABYTES = 50, 10, 8
GROWTH, GAP, BEHIND = (
    "growth of memory",
    "token gap of the others, p95, during over before",
    "slow clients without the complete answer",
)
TOKENS, RATE = 160, 20
BLOCKED_SECONDS = 0.2
PIECE_SIZE = 4096
# All pieces differ, so that a missing or repeated one is found.
PIECES = [f"{number:0{PIECE_SIZE}d}" for number in range(MEGABYTES * 2**20 // PIECE_SIZE)]
ANSWER = "".join(PIECES)
_END = re.compile(rb'^\{"type":"RUN_(?:FINISHED|ERROR)"')
_STARTED = re.compile(rb'^\{"type":"RUN_STARTED"')
_TEXT = b'{"type":"TEXT_MESSAGE_CONTENT"'


def send_without_waiting() -> None:
    """Frames are sent without waiting for the reader."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    WebSocketsSansIOProtocol.pause_writing = lambda self: None  # type: ignore[method-assign]


def block_the_event_loop() -> None:
    """Each attach blocks the event loop."""
    from assistant.websocket.consumer import ThreadFrames

    attach = ThreadFrames.attach

    async def slow(self: ThreadFrames, frame: Mapping[str, Any]) -> None:
        time.sleep(BLOCKED_SECONDS)
        await attach(self, frame)

    ThreadFrames.attach = slow  # type: ignore[method-assign]


def lose_text() -> None:
    """Every hundredth piece of text is not sent."""
    from assistant.websocket.consumer import ChatConsumer

    send, count = ChatConsumer.send_frame, itertools.count()

    async def careless(self: ChatConsumer, frame: str) -> None:
        if '"TEXT_MESSAGE_CONTENT"' not in frame[:40] or next(count) % 100:
            await send(self, frame)

    ChatConsumer.send_frame = careless  # type: ignore[method-assign]


FAULTS = (
    Fault("frames are sent without waiting for the reader", GROWTH, send_without_waiting),
    Fault("each attach blocks the event loop", GAP, block_the_event_loop),
    Fault("every hundredth piece of text is not sent", BEHIND, lose_text),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    with FakeProvider() as provider, testbed.site(SQLITE, provider.url) as site, testbed.serve(site) as server:
        provider.rule(_answer)
        return asyncio.run(_measure(testbed, site, server))


def _answer(request: Recorded) -> Answer:
    if "[long]" not in request.last_text:
        return reply(chunks=["word "] * TOKENS, delay=1 / RATE)(request)
    pieces = [event(chunk({"content": piece})) for piece in PIECES]
    return Answer([*pieces, event(chunk(finish="stop")), event("[DONE]")])


async def _measure(testbed: Testbed, site: Site, server: Server) -> Sequence[Line]:
    await _long(site, server, 0)  # so that the memory of a run of 8 MB is not counted
    before = await _gaps(site, server)
    memory = server.process.memory()
    others = asyncio.create_task(_gaps(site, server))
    await asyncio.sleep(0.5)
    clients = testbed.scaled(CLIENTS) if testbed.fault is None else CLIENTS
    thread, slow = await _long(site, server, clients)
    peak = memory
    while not others.done():
        peak = max(peak, server.process.memory())
        await asyncio.sleep(0.2)
    during = await others
    behind = await _catch_up(site, server, thread, slow)
    beside = (
        f"median {median(during) * 1000:.0f} ms, p95 {p95(during) * 1000:.0f} ms; before {p95(before) * 1000:.0f} ms"
    )
    return [
        Line(GROWTH, (peak - memory) / 2**20, "MB", 100, beside=f"{clients} clients"),
        Line(GAP, p95(during) / p95(before), "times", 2, beside=beside),
        Line(BEHIND, behind, "", 0, beside="neither by reading on nor by attaching again"),
    ]


async def _open(site: Site, server: Server, number: int) -> WebSocketClient:
    headers = {"Authorization": f"Bearer {site.keys[number % len(site.keys)]}"}
    return await WebSocketClient.open(f"ws://127.0.0.1:{server.port}/ws/bench/support/", headers)


async def _long(site: Site, server: Server, clients: int) -> tuple[str, list[WebSocketClient]]:
    """Start a run of 8 MB that one client reads to its end, and others attach to without reading.

    Every second one attaches after the first event, the others ask for a snapshot. Returns the thread and those others.
    """
    reader = await _open(site, server, 0)
    given = run_input("[long]")
    slow = [await _open(site, server, 0) for _ in range(clients)]
    started = asyncio.ensure_future(reader.until(_STARTED))
    await asyncio.sleep(0)
    reader.send(json.dumps(given))
    await started
    ended = asyncio.ensure_future(reader.until(_END))
    attach = {"type": "attach", "threadId": given["threadId"], "protocolVersion": "1.0"}
    for number, socket in enumerate(slow):
        after = {"after": {"runId": given["runId"], "seq": 1}} if number % 2 else {}
        socket.send(json.dumps({**attach, **after}))
        socket.transport.pause_reading()
    await ended
    reader.close()
    return given["threadId"], slow


async def _catch_up(site: Site, server: Server, thread: str, slow: Sequence[WebSocketClient]) -> int:
    """Let the slow clients read on, or connect again if they were dropped; return how many lack the complete answer."""
    ends = [asyncio.ensure_future(socket.until(_END)) for socket in slow]
    await asyncio.sleep(0)
    for socket in slow:
        socket.transport.resume_reading()
    behind = 0
    for socket, ended in zip(slow, ends, strict=True):
        try:
            await ended
            behind += not _has_all(socket)
        except ConnectionError:
            behind += not await _attach_again(site, server, thread)
        socket.close()
    return behind


def _has_all(socket: WebSocketClient) -> bool:
    return shown([json.loads(payload) for _, payload in socket.received]) == ANSWER


async def _attach_again(site: Site, server: Server, thread: str) -> bool:
    """Connect again, and return whether the complete answer comes."""
    socket = await _open(site, server, 0)
    ended = asyncio.ensure_future(socket.until(_END))
    await asyncio.sleep(0)
    socket.send(json.dumps({"type": "attach", "threadId": thread, "protocolVersion": "1.0"}))
    try:
        await ended
    except ConnectionError:
        return False
    socket.close()
    return _has_all(socket)


async def _gaps(site: Site, server: Server) -> list[float]:
    """Return the seconds between tokens of the clients that read."""

    async def one(number: int) -> list[float]:
        socket = await _open(site, server, number + 1)
        ended = asyncio.ensure_future(socket.until(_END))
        await asyncio.sleep(0)
        socket.send(json.dumps(run_input("Tell me")))
        await ended
        socket.close()
        times = [at for at, payload in socket.received if payload.startswith(_TEXT)]
        return [after - at for at, after in pairwise(times)]

    return [gap for gaps in await asyncio.gather(*(one(number) for number in range(OTHERS))) for gap in gaps]
