"""Memory that a server buffers for clients that stop reading: `python -m benchmarks.stopped` prints it.

Clients attach to a run and stop reading; then its answer of 32 MB comes, which another client reads to its end. The
memory beyond that of the same run without such clients is what the server buffers for them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.load_client import WebSocketClient
from benchmarks.processes import Process, started
from benchmarks.targets import QUIET, UVICORN, Site, free_port, site
from tests.fake_answers import Answer, Gate, chunk, event
from tests.fake_provider import FakeProvider

MEGABYTES = 32
PIECE = "x" * 4096
_END = re.compile(rb'^\{"type":"RUN_(?:FINISHED|ERROR)"')
_BEGUN = re.compile(rb"Well")
APPLICATION = "config.asgi:application"
# Time for buffers that are still filled when the reader has everything.
SETTLE_SECONDS = 3.0


def answer(gate: Gate) -> Answer:
    """Return an answer of one word, and of all the rest at full speed once the gate is open."""
    pieces = [event(chunk({"content": PIECE}))] * (MEGABYTES * 2**20 // len(PIECE))
    return Answer([event(chunk({"content": "Well. "})), gate, *pieces, event(chunk(finish="stop")), event("[DONE]")])


@contextmanager
def served(kind: str, made: Site) -> Iterator[tuple[int, Process]]:
    """Serve the site with uvicorn or daphne until the end of the block."""
    port = free_port()
    command = {
        "uvicorn": [sys.executable, "-m", *UVICORN, "--port", str(port), *QUIET, APPLICATION],
        "daphne": [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(port), "-v", "0", APPLICATION],
    }[kind]
    with started(command, made.env) as process:
        process.wait_for(f"http://127.0.0.1:{port}/healthz")
        yield port, process


async def run(provider: FakeProvider, made: Site, port: int, process: Process, clients: int) -> int:
    """Run one long answer with so many clients that do not read; return the server's peak memory in bytes."""
    headers = {"Authorization": f"Bearer {made.keys[0]}"}
    reader, *stopped = [
        await WebSocketClient.open(f"ws://127.0.0.1:{port}/ws/bench/support/", headers) for _ in range(clients + 1)
    ]
    gate = provider.gate()
    provider.queue(answer(gate))
    thread = str(uuid.uuid4())
    message = {"id": "m", "role": "user", "content": "Go"}
    given = {"threadId": thread, "runId": thread, "protocolVersion": "1.0", "messages": [message]}
    await send_and_wait(reader, given, _BEGUN)
    for socket in stopped:
        await send_and_wait(socket, {"type": "attach", "threadId": thread, "protocolVersion": "1.0"}, _BEGUN)
        socket.transport.pause_reading()
    ended = asyncio.ensure_future(reader.until(_END))
    gate.release()
    peak, loop = 0, asyncio.get_running_loop()
    quiet_at = math.inf
    while loop.time() < quiet_at:
        peak = max(peak, process.memory())
        await asyncio.sleep(0.1)
        if ended.done() and quiet_at == math.inf:
            quiet_at = loop.time() + SETTLE_SECONDS
    await ended
    for socket in (reader, *stopped):
        socket.transport.abort()
    return peak


async def send_and_wait(socket: WebSocketClient, frame: Mapping[str, object], wanted: re.Pattern[bytes]) -> None:
    """Send a frame and wait for a message that matches `wanted`."""
    came = asyncio.ensure_future(socket.until(wanted))
    await asyncio.sleep(0)
    socket.send(json.dumps(frame))
    await came


async def measure(provider: FakeProvider, made: Site, port: int, process: Process, clients: int) -> float:
    """Return the megabytes that the server buffers for clients that stop reading."""
    for _ in range(2):  # the memory of the run itself, with caches and the log
        alone = await run(provider, made, port, process, 0)
    return (await run(provider, made, port, process, clients) - alone) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=20)
    clients = parser.parse_args().clients
    print(f"{clients} clients that read nothing of an answer of {MEGABYTES} MB")
    for kind in ("uvicorn", "daphne"):
        with FakeProvider() as provider, site(provider.url) as made, served(kind, made) as (port, process):
            grown = asyncio.run(measure(provider, made, port, process, clients))
        print(f"{kind:8} {grown:8.0f} MB", flush=True)


if __name__ == "__main__":
    main()
