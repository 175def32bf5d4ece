"""What a turn costs beside its tokens: time to the first token, CPU, and queries, however long the thread is."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from statistics import median

import psycopg
import redis

from benchmarks.bench import Bench
from benchmarks.processes import started
from benchmarks.report import Line, Section, number
from benchmarks.rows.pace import fresh_database
from benchmarks.ways import Direct, Product, Site, Way, close_all, product, site

_FIRST = re.compile(rb'"content":"word0 |TEXT_MESSAGE_CONTENT')
COUNT = "import django; django.setup(); from benchmarks.queries import main; main()"
LONGEST = 10_000


def measure(bench: Bench) -> Iterator[Section]:
    cpu: dict[str, float] = {}
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        server = stack.enter_context(product(made))
        direct = Direct("direct", int(bench.provider_url.split(":")[2].split("/")[0]), None)
        yield _first_section(asyncio.run(_first_tokens(bench, server, direct, made)))
        cpu["SQLite"] = asyncio.run(_cpu_of_turns(bench, server))
        cpu["SQLite, thread of 10,000"] = asyncio.run(_cpu_of_turns(bench, server, made.long_threads[LONGEST]))
        queries = _queries(made)
    try:
        url = fresh_database()
    except (psycopg.OperationalError, redis.RedisError) as exc:
        how = f"PostgreSQL is not there: {str(exc).splitlines()[0]}"
    else:
        how = "PostgreSQL and SQLite; event log in memory."
        with site(bench.provider_url, url) as made, product(made) as server:
            cpu["PostgreSQL"] = asyncio.run(_cpu_of_turns(bench, server))
    yield _cpu_section(cpu, queries, how)


async def _first_tokens(bench: Bench, server: Product, direct: Way, made: Site) -> dict[str, float]:
    """Median milliseconds from the question to the first token: of the provider, a new thread, and a long one."""
    seen: dict[str, list[float]] = {"direct": [], "new": [], "long": []}
    wire, line = await server.open(0), await direct.open(0)
    for _ in range(5 if bench.quick else bench.rounds * 10):
        for name, thread in (("new", ""), ("long", made.long_threads[LONGEST])):
            wire.received.clear()
            start = time.monotonic()
            server.say(wire, "Hello", thread=thread)
            # Not one after the other: the first token and the end may come at once.
            await wire.until(server.end)
            first = next(came for came, text in wire.received if _FIRST.search(text))
            seen[name].append((first - start) * 1000)
            await asyncio.sleep(0.02)
        start = time.monotonic()
        direct.say(line, "Hello")
        await line.until(_FIRST)
        seen["direct"].append((line.received[-1][0] - start) * 1000)
    await close_all([wire, line])
    return {name: median(values) for name, values in seen.items()}


def _first_section(medians: dict[str, float]) -> Section:
    direct = medians["direct"]
    beside = f"the provider itself {number(direct)} ms"
    lines = [
        Line("new thread, p50", medians["new"] - direct, "ms", 6, beside=beside, is_work=True),
        Line("thread of 10,000 messages, p50", medians["long"] - direct, "ms", 9, beside=beside, is_work=True),
    ]
    how = "From the client's question to the first token at the client, less what the provider takes by itself; SQLite."
    return Section("Time to the first token that the product adds", how, lines)


async def _cpu_of_turns(bench: Bench, server: Product, thread: str = "") -> float:
    """Median milliseconds of the server's CPU for one turn whose answer is one token."""
    spent = []
    turns = 5 if bench.quick else 50
    wire = await server.open(1 if not thread else 0)
    async for _ in _times(bench.rounds + 1):
        start = server.cpu()
        for _ in range(turns):
            server.say(wire, "Hello", thread=thread)
            await wire.until(server.end)
        spent.append((server.cpu() - start) / turns * 1000)
    await close_all([wire])
    return median(spent[1:])


async def _times(rounds: int) -> AsyncIterator[int]:
    """Rounds with a pause between, for what a client's frames are limited to."""
    for number_of_round in range(rounds):
        yield number_of_round
        await asyncio.sleep(2.5)


def _queries(made: Site) -> dict[str, int]:
    """Queries of a turn by thread."""
    threads = {f"{size:,}": thread for size, thread in made.long_threads.items()}
    with started([sys.executable, "-c", COUNT, json.dumps(threads)], made.env) as process:
        counts: dict[str, int] = json.loads(process.line())
    return counts


def _cpu_section(cpu: dict[str, float], queries: dict[str, int], how: str) -> Section:
    goals = {"SQLite": 6.0, "PostgreSQL": 8.0}
    lines = [Line(f"CPU of a turn, {name}", value, "ms", goals.get(name), is_work=True) for name, value in cpu.items()]
    beside = ", ".join(f"{name} {count}" for name, count in queries.items())
    lines.append(Line("queries of a turn, the most", float(max(queries.values())), "", 8, beside=beside))
    apart = queries[f"{LONGEST:,}"] - queries["two messages"]
    lines.append(Line("queries that 10,000 messages add", float(apart), "", 0))
    how += (
        " Everything that the server's process does for a turn of one token, websocket and provider's client included."
    )
    return Section("A whole turn beside its tokens, 20 tools", how, lines)
