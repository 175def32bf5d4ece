"""Says where each microsecond of the serving process goes: `python -m benchmarks.profiled [--seconds 8]`.

py-spy looks at the process from outside; what it sees is shared out over the CPU time that the kernel counted then.
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

from benchmarks.processes import started
from benchmarks.report import number
from benchmarks.rows.pace import REDIS, fresh_database
from benchmarks.ways import Product, close_all, product, site
from benchmarks.wire import Wire

STREAMS, RATE, FLAT_TOKENS, ASKING = 40, 50, 4_000, 4
LOOKS_PER_SECOND, WARMING_SECONDS = 250, 3.0
# By the file of the innermost frame of Python, the first that fits; what it calls in C is its own.
ROOMS: Sequence[tuple[str, str]] = (
    ("The provider's HTTP: aiohttp", "aiohttp/|multidict/|yarl/"),
    ("Asking it: openai, httpx2", "openai/|httpx2?/|httpcore2?/|assistant/providers/(connections|requests)"),
    ("Reading its answer: `providers/`", "assistant/providers/"),
    ("Loop, assembling, events, tools: `core/`, `tools/`", "assistant/core/|tools/"),
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
# Threads of a pool that have nothing to do.
_WAITING = re.compile(r"_worker \(concurrent/futures/thread\.py:\d+\)$")
_TEXT = re.compile(rb"TEXT_MESSAGE_CONTENT")

Work = Callable[[Product, Sequence[Wire]], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Profile:
    """What was seen of a process while it served `count` of something, in so many seconds of CPU."""

    title: str
    count: int
    seconds: float
    looks: Counter[str]

    def table(self) -> str:
        """Microseconds of one, and shares, by room, as Markdown."""
        total, each = sum(self.looks.values()), self.seconds / self.count * 1e6
        head = [f"| {self.title}: {number(each)} us | us | Share |", "|---|---|---|"]
        rows = [
            f"| {room} | {number(each * seen / total)} | {100 * seen / total:.0f} % |"
            for room, seen in self.looks.most_common()
        ]
        return "\n".join([*head, *rows])


def room_of(stack: str) -> str:
    """The room in which a look found a thread: of a line of py-spy's raw output, without the count."""
    frame = _FILE.search(stack)
    file = (frame[1] if frame else stack).rpartition("site-packages/")[2]
    return next((room for room, files in ROOMS if re.match(files, file)), "The rest")


async def paced(server: Product, wires: Sequence[Wire]) -> int:
    """Answers of tokens that come by themselves; how many tokens."""
    return await _answered(server, wires, f"[tokens={RATE * _seconds} rate={RATE}]", RATE * _seconds)


async def flat_out(server: Product, wires: Sequence[Wire]) -> int:
    """Answers as fast as they go; how many tokens."""
    done, loop = 0, asyncio.get_running_loop()
    until = loop.time() + _seconds
    while loop.time() < until:
        done += await _answered(server, wires, f"[tokens={FLAT_TOKENS}]", FLAT_TOKENS)
    return done


async def turns(server: Product, wires: Sequence[Wire]) -> int:
    """One question after the other, each answered with a word; how many."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _seconds

    async def ask(wire: Wire) -> int:
        done = 0
        while loop.time() < until:
            await server.ask(wire, "Hello")
            done += 1
            await asyncio.sleep(0.03)  # a member's frames are limited
        return done

    return sum(await asyncio.gather(*(ask(wire) for wire in wires)))


async def _answered(server: Product, wires: Sequence[Wire], prompt: str, tokens: int) -> int:
    for wire in wires:
        wire.received.clear()
    await asyncio.gather(*(server.ask(wire, prompt) for wire in wires))
    assert all(any(_TEXT.search(text) for _, text in wire.received) for wire in wires)
    return tokens * len(wires)


async def watch(title: str, server: Product, streams: int, work: Work) -> Profile:
    """Let `work` go on over so many connections, and look at the server meanwhile."""
    assert server.process is not None
    wires = [await server.open(place) for place in range(streams)]
    await asyncio.gather(*(server.ask(wire, "Hello") for wire in wires))
    await asyncio.sleep(WARMING_SECONDS)  # what is imported late
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        seen = Path(folder) / "raw"
        spy = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("py-spy"), "record", "--pid", str(server.process.popen.pid),
            "--format", "raw", "--rate", str(LOOKS_PER_SECOND), "--duration", str(_seconds), "--output", seen,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        before = server.cpu()
        count = await work(server, wires)
        spent = server.cpu() - before
        if await spy.wait():
            raise RuntimeError("py-spy may not look at the server: root, or the right to trace processes, is needed")
        looks: Counter[str] = Counter()
        for line in seen.read_text().splitlines():
            stack, _, times = line.rpartition(" ")
            if not _WAITING.search(stack):
                looks[room_of(stack)] += int(times)
    await close_all(wires)
    return Profile(title, count, spent, looks)


def profiles(provider_url: str) -> Iterator[Profile]:
    """One after the other: on SQLite, and on PostgreSQL and Redis if they are there."""
    with site(provider_url) as made, product(made) as server:
        yield asyncio.run(watch("SQLite, a token that comes by itself", server, STREAMS, paced))
        yield asyncio.run(watch("SQLite, a token that comes with others", server, STREAMS, flat_out))
        yield asyncio.run(watch("SQLite, a turn of one token, 20 tools", server, ASKING, turns))
    try:
        url = fresh_database()
    except (psycopg.OperationalError, redis.RedisError) as exc:
        print(f"PostgreSQL or Redis is not there: {exc}")
        return
    with site(provider_url, url, REDIS) as made, product(made) as server:
        yield asyncio.run(watch("PostgreSQL and Redis, a token that comes by itself", server, STREAMS, paced))
        yield asyncio.run(watch("PostgreSQL and Redis, a turn of one token, 20 tools", server, ASKING, turns))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=8, help="how long each situation is looked at")
    _seconds = parser.parse_args().seconds
    with started([sys.executable, "-m", "benchmarks.provider"]) as provider:
        for profile in profiles(provider.line()):
            print(profile.table(), end="\n\n", flush=True)
