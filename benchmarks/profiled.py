"""Profiles the server process by part of the code: `python -m benchmarks.profiled [--seconds 8]`.

py-spy samples the process from outside. The CPU time that the kernel counted meanwhile is divided in proportion to the
samples of each part.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis

from benchmarks.load_client import LoadClient
from benchmarks.processes import started
from benchmarks.report import number
from benchmarks.rows.pace import REDIS, fresh_database
from benchmarks.targets import Product, close_all, product, site

STREAMS, RATE, FLAT_TOKENS, CLIENTS = 40, 50, 4_000, 4
SAMPLES_PER_SECOND, WARM_UP_SECONDS = 250, 3.0
# By the file of the innermost Python frame, whose C calls count as its own; the first pattern that matches.
PARTS: Sequence[tuple[str, str]] = (
    ("The provider's HTTP: aiohttp", "aiohttp/|multidict/|yarl/"),
    (
        "Asking it: openai, httpx2",
        "openai/|httpx2?/|httpcore2?/|assistant/providers/openai_wire/(http_clients|request_body)",
    ),
    ("Reading its answer: `providers/`", "assistant/providers/"),
    ("Loop, assembling, events, tools: `core/`, `toolkit/`", "assistant/core/|assistant/toolkit/|tools/"),
    (
        "Numbering and the log: `services/`",
        "assistant/services/(eventlog/|runs/run_task)",
    ),
    ("Redis: its client", "redis/"),
    ("What a turn asks and stores: `services/`", "assistant/services/|assistant/models/"),
    ("Django and the database", "django/|psycopg|sqlite3/|asgiref/"),
    ("Following and our consumer", "assistant/|channels/"),
    ("The websocket: uvicorn, websockets", "uvicorn/|websockets/"),
    ("Event loop and threads", "asyncio/|uvloop|concurrent/|threading|contextlib|queue|selectors|ssl"),
)
_FILE = re.compile(r" \(([^()]*?)(?::\d+)?\)$")
# Idle threads of a pool.
_WAITING = re.compile(r"_worker \(concurrent/futures/thread\.py:\d+\)$")
_TEXT = re.compile(rb"TEXT_MESSAGE_CONTENT")

Work = Callable[[Product, Sequence[LoadClient]], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Profile:
    """Samples of a process that did something `count` times in so many seconds of CPU time."""

    title: str
    count: int
    seconds: float
    samples: Counter[str]

    def table(self) -> str:
        """Return the microseconds of one, and the shares, by part, as a Markdown table."""
        total, each = sum(self.samples.values()), self.seconds / self.count * 1e6
        head = [f"| {self.title}: {number(each)} us | us | Share |", "|---|---|---|"]
        rows = [
            f"| {part} | {number(each * seen / total)} | {100 * seen / total:.0f} % |"
            for part, seen in self.samples.most_common()
        ]
        return "\n".join([*head, *rows])


def part_of(stack: str) -> str:
    """Return the part of the code that a sample belongs to, from a line of py-spy's raw output without the count."""
    frame = _FILE.search(stack)
    file = (frame[1] if frame else stack).rpartition("site-packages/")[2]
    return next((part for part, files in PARTS if re.match(files, file)), "The rest")


async def paced(server: Product, clients: Sequence[LoadClient]) -> int:
    """Stream paced answers; return how many tokens."""
    return await _answered(server, clients, f"[tokens={RATE * _seconds} rate={RATE}]", RATE * _seconds)


async def flat_out(server: Product, clients: Sequence[LoadClient]) -> int:
    """Stream answers at full speed; return how many tokens."""
    done, loop = 0, asyncio.get_running_loop()
    until = loop.time() + _seconds
    while loop.time() < until:
        done += await _answered(server, clients, f"[tokens={FLAT_TOKENS}]", FLAT_TOKENS)
    return done


async def turns(server: Product, clients: Sequence[LoadClient]) -> int:
    """Send prompts that are answered with one word, one after the other; return how many."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _seconds

    async def ask(client: LoadClient) -> int:
        done = 0
        while loop.time() < until:
            await server.ask(client, "Hello")
            done += 1
            await asyncio.sleep(0.03)  # the frames of a member are limited
        return done

    return sum(await asyncio.gather(*(ask(client) for client in clients)))


async def _answered(server: Product, clients: Sequence[LoadClient], prompt: str, tokens: int) -> int:
    for client in clients:
        client.received.clear()
    await asyncio.gather(*(server.ask(client, prompt) for client in clients))
    assert all(any(_TEXT.search(text) for _, text in client.received) for client in clients)
    return tokens * len(clients)


async def watch(title: str, server: Product, streams: int, work: Work) -> Profile:
    """Run `work` over so many connections, and sample the server meanwhile."""
    assert server.process is not None
    clients = [await server.open(place) for place in range(streams)]
    await asyncio.gather(*(server.ask(client, "Hello") for client in clients))
    await asyncio.sleep(WARM_UP_SECONDS)  # for imports after the start
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        seen = Path(folder) / "raw"
        spy = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("py-spy"), "record", "--pid", str(server.process.popen.pid),
            "--format", "raw", "--rate", str(SAMPLES_PER_SECOND), "--duration", str(_seconds), "--output", seen,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        before = server.cpu()
        count = await work(server, clients)
        spent = server.cpu() - before
        if await spy.wait():
            raise RuntimeError("py-spy may not trace the server: root, or the right to trace processes, is needed")
        samples: Counter[str] = Counter()
        for line in seen.read_text().splitlines():
            stack, _, times = line.rpartition(" ")
            if not _WAITING.search(stack):
                samples[part_of(stack)] += int(times)
    await close_all(clients)
    return Profile(title, count, spent, samples)


def profiles(provider_url: str) -> Iterator[Profile]:
    """Yield the profiles on SQLite, then those on PostgreSQL and Redis if they are there."""
    with site(provider_url) as made, product(made) as server:
        yield asyncio.run(watch("SQLite, a token that comes by itself", server, STREAMS, paced))
        yield asyncio.run(watch("SQLite, a token that comes with others", server, STREAMS, flat_out))
        yield asyncio.run(watch("SQLite, a turn of one token, 20 tools", server, CLIENTS, turns))
    try:
        url = fresh_database()
    except (psycopg.OperationalError, redis.RedisError) as exc:
        print(f"PostgreSQL or Redis does not answer: {exc}")
        return
    with site(provider_url, url, REDIS) as made, product(made) as server:
        yield asyncio.run(watch("PostgreSQL and Redis, a token that comes by itself", server, STREAMS, paced))
        yield asyncio.run(watch("PostgreSQL and Redis, a turn of one token, 20 tools", server, CLIENTS, turns))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=8, help="how long each workload is sampled")
    _seconds = parser.parse_args().seconds
    with started([sys.executable, "-m", "benchmarks.provider"]) as provider:
        for profile in profiles(provider.read_line()):
            print(profile.table(), end="\n\n", flush=True)
