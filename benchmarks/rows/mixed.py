"""Mixed load of answers, tools, cancelled runs and lost connections: whether memory keeps growing."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import mean

from benchmarks.bench import Bench
from benchmarks.load_client import WebSocketClient
from benchmarks.report import Line, Section, number
from benchmarks.targets import Product, close_all, product, site

CLIENTS = 40
# The share of the time before memory is measured: five minutes of thirty.
WARM = 1 / 6
# The goal applies to this length: before, histories still grow.
GOAL_MINUTES = 30
PROMPTS = (
    "[tokens=100 rate=100]",
    "[tokens=1000]",
    '[call add {"a": 1, "b": 2}]',
    '[call add {"a": 1, "b": 2}] [call current_time {}] [call no_such_tool {}]',
    "[rounds=3]",
)
SLOW = "[tokens=300 rate=100]"
_STARTED = re.compile(rb'^\{"type":"RUN_STARTED".*"id":"([^"]+)"')
_BEGUN = re.compile(rb'^\{"type":"RUN_(?:STARTED|ERROR)"')
_ENDED = re.compile(rb'^\{"type":"RUN_(FINISHED|ERROR)"')


def measure(bench: Bench) -> Iterator[Section]:
    """Run the load, and compare memory early and late."""
    seconds = 20 if bench.quick else bench.mixed_minutes * 60
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        server = stack.enter_context(product(made))
        samples, clients = asyncio.run(_load(server, seconds))
    turns, failed = sum(client.turns for client in clients), [end for client in clients for end in client.failed]
    warm = samples[int(len(samples) * WARM) :]
    part = max(1, len(warm) // 5)
    early, late = mean(warm[:part]), mean(warm[-part:])
    beside = f"from {early / 2**20:.1f} to {late / 2**20:.1f} MiB over {number(turns)} turns"
    growth = (late / early - 1) * 100
    goal = 3.0 if seconds >= GOAL_MINUTES * 60 else None
    lines = [
        Line("growth of memory after the first sixth of the time", growth, "%", goal, beside=beside),
        Line("turns that ended in an error", len(failed), "", 0, beside=failed[0] if failed else ""),
    ]
    how = (
        f"{seconds / 60:.3g} minutes of {CLIENTS} clients with a thread each: answers, tool calls, chained "
        "rounds, cancelled runs, dropped connections that catch up. Proportional set size of the server. The memory of "
        "runs grows until a thread has the 400 messages that a request has at most: after 115 turns. The goal, 3 %, is "
        f"for {GOAL_MINUTES} minutes."
    )
    yield Section("Mixed load", how, lines)


async def _load(server: Product, seconds: float) -> tuple[list[int], list[_Client]]:
    """Return the memory of the server, sampled every half second, and the clients."""
    assert server.process is not None
    until = time.monotonic() + seconds
    clients = [_Client(server, number) for number in range(CLIENTS)]
    tasks = [asyncio.create_task(client.run(until)) for client in clients]
    samples = []
    while time.monotonic() < until:
        samples.append(server.process.memory())
        await asyncio.sleep(0.5)
    await asyncio.gather(*tasks)
    return samples, clients


class _Client:
    """A client that sends prompts, cancels runs and drops its connection, in an order that its number determines.

    `failed` has the last frames of runs that ended in an error.
    """

    def __init__(self, server: Product, number_of_client: int) -> None:
        self._server, self._number = server, number_of_client
        self._random = random.Random(number_of_client)
        self._thread = _uuid(self._random)
        self.turns = 0
        self.failed: list[str] = []

    async def run(self, until: float) -> None:
        """Make turns until that time of the monotonic clock."""
        client = await self._open()
        while time.monotonic() < until:
            client.received.clear()
            match self._random.randrange(8):
                case 0:
                    await self._cancel(client)
                case 1:
                    client = await self._lose(client)
                case _:
                    self._server.send(client, self._random.choice(PROMPTS), thread=self._thread)
                    await self._until_end(client)
            self.turns += 1
            await asyncio.sleep(self._random.random())
        await close_all([client])

    async def _until_end(self, client: WebSocketClient) -> None:
        if not any(_ENDED.search(text) for _, text in client.received):  # it may have come already
            await client.until(_ENDED)
        ends = (text for _, text in client.received if (found := _ENDED.search(text)) and found[1] == b"ERROR")
        self.failed.extend(end.decode() for end in ends)

    async def _open(self) -> WebSocketClient:
        client = await self._server.open(self._number)
        assert isinstance(client, WebSocketClient)
        return client

    async def _cancel(self, client: WebSocketClient) -> None:
        self._server.send(client, SLOW, thread=self._thread)
        await client.until(_BEGUN)
        run = next((found[1].decode() for _, text in client.received if (found := _STARTED.search(text))), "")
        if run:
            await asyncio.sleep(0.2)
            client.send(json.dumps({"type": "cancel", "runId": run}))
        await self._until_end(client)

    async def _lose(self, client: WebSocketClient) -> WebSocketClient:
        """Drop the connection during an answer, and read the rest over another one, which is returned."""
        self._server.send(client, SLOW, thread=self._thread)
        await client.until(_BEGUN)
        if any(_ENDED.search(text) for _, text in client.received):
            await self._until_end(client)
            return client
        await asyncio.sleep(0.2)
        client.transport.abort()
        again = await self._open()
        again.send(json.dumps({"type": "attach", "threadId": self._thread}))
        await self._until_end(again)
        return again


def _uuid(source: random.Random) -> str:
    digits = f"{source.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
