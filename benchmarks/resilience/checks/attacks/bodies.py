"""Bodies of HTTP requests that are far too large, and bodies that never end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.sites import SQLITE, Server
from tests.fake_provider import FakeProvider

TITLE = "Bodies without end"
MEGABYTES, CLIENTS = 400, 20
BOUND_SECONDS, SPARE_SECONDS = 15, 10
HOW = (
    f"A body of {MEGABYTES} MB for each of `/healthz`, the sign-in page, the form for a document and no known address, "
    "in chunks and, once more, declared. The process's memory and the files without a name that it has open are "
    f"looked at meanwhile. Then {CLIENTS} connections send one byte of a body and no more, and {CLIENTS} others a byte "
    f"a second; {BOUND_SECONDS + SPARE_SECONDS} s later they are counted."
)
PATHS = ("/healthz", "/accounts/login/", "/nowhere/", "/admin/assistant/document/add/")
STORED, GROWTH, SILENT, DRIPPING, ANSWERS = (
    "bytes on disk, at the most",
    "growth of memory",
    "silent bodies that have not ended",
    "dripping bodies that have not ended",
    "bodies that were not answered with 413",
)
PIECE = b"x" * 65536


def bound_no_size() -> None:
    """Bodies may have any size."""
    from assistant.asgi import body_limits

    body_limits.size_bound = lambda scope: 2**60  # type: ignore[attr-defined]


def wait_without_end() -> None:
    """A body may stop for as long as it likes."""
    from assistant.asgi import body_limits

    body_limits.BODY_TIMEOUT_SECONDS = 10**6


def bound_no_rate() -> None:
    """A body may come as slowly as it likes."""
    from assistant.asgi import body_limits

    body_limits.MIN_BODY_RATE = 1e-6  # type: ignore[assignment]


FAULTS = (
    Fault("bodies may have any size", STORED, bound_no_size),
    Fault("nobody looks for bodies that stop", SILENT, wait_without_end),
    Fault("bodies may come at any rate", DRIPPING, bound_no_rate),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    with FakeProvider() as provider, testbed.site(SQLITE, provider.url) as site, testbed.serve(site) as server:
        return asyncio.run(_measure(server, testbed.scaled(MEGABYTES) * 2**20))


async def _measure(server: Server, size: int) -> Sequence[Line]:
    for path in PATHS:
        await _post(server, path, 1, is_declared=True)
    before, sent = await asyncio.to_thread(server.process.settled_memory), []
    watch = asyncio.create_task(_watch(server))
    unanswered = 0
    for path in PATHS:
        for is_declared in (False, True):
            status, passed = await _post(server, path, size, is_declared=is_declared)
            unanswered += status != 413
            sent.append(passed)
    watch.cancel()
    peak, stored = await watch
    silent, dripping = await _slow(server)
    beside = f"{len(sent)} bodies, of which {sum(sent) / 2**20:.0f} of {len(sent) * size / 2**20:.0f} MB were sent"
    return [
        Line(STORED, stored / 2**20, "MB", 25, beside=beside),
        Line(GROWTH, (peak - before) / 2**20, "MB", 15),
        Line(ANSWERS, unanswered, "", 0),
        Line(SILENT, silent, "", 0, beside=f"of {CLIENTS}"),
        Line(DRIPPING, dripping, "", 0, beside=f"of {CLIENTS}"),
    ]


async def _watch(server: Server) -> tuple[int, int]:
    """Return the most memory and the most bytes in files that the process has until this is cancelled."""
    peak = stored = 0
    try:
        while True:
            peak = max(peak, server.process.memory())
            stored = max(stored, server.process.unnamed_files())
            await asyncio.sleep(0.005)
    except asyncio.CancelledError:
        return peak, stored


async def _begin(
    server: Server, path: str, length: str = "Transfer-Encoding: chunked"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{length}\r\n\r\n".encode())
    return reader, writer


async def _post(server: Server, path: str, size: int, *, is_declared: bool) -> tuple[int, int]:
    """Send a body of so many bytes, on after an answer too.

    Returns the status of the answer, 0 without one, and how many bytes were sent.
    """
    reader, writer = await _begin(server, path, *([f"Content-Length: {size}"] if is_declared else []))
    answer, sent = asyncio.create_task(_first_line(reader)), 0
    try:
        while sent < size:
            piece = PIECE[: size - sent]
            writer.write(piece if is_declared else b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            sent += len(piece)
        if not is_declared:
            writer.write(b"0\r\n\r\n")
    except ConnectionError:
        pass
    line = await answer
    writer.transport.abort()
    return int(line.split()[1]) if line else 0, sent


async def _first_line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await asyncio.wait_for(reader.readline(), 60)
    except ConnectionError:
        return b""


async def _slow(server: Server) -> tuple[int, int]:
    """Return how many connections are still waited for: those that send nothing, and those that drip."""
    silent = [await _begin(server, "/healthz") for _ in range(CLIENTS)]
    dripping = [await _begin(server, "/healthz") for _ in range(CLIENTS)]
    for _, writer in silent:
        writer.write(b"1\r\nx\r\n")
    for _ in range(BOUND_SECONDS + SPARE_SECONDS):
        for _, writer in dripping:
            if not writer.is_closing():
                writer.write(b"1\r\nx\r\n")
        await asyncio.sleep(1)
    counts = [sum([not await _has_ended(reader) for reader, _ in group]) for group in (silent, dripping)]
    for _, writer in (*silent, *dripping):
        writer.transport.abort()
    return counts[0], counts[1]


async def _has_ended(reader: asyncio.StreamReader) -> bool:
    """Whether the server has answered and closed the connection."""
    try:
        return b" 408 " in await asyncio.wait_for(reader.read(), 0.1)
    except ConnectionError:
        return True
    except TimeoutError:
        return False
