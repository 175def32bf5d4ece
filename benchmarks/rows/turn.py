"""The cost of a turn apart from its tokens: time to the first token, CPU and queries, in new and in long threads."""

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
from benchmarks.targets import PROVIDER, Product, Site, Target, close_all, direct, product, site

_FIRST = re.compile(rb'"content":"word0 |TEXT_MESSAGE_CONTENT')
COUNT = "import django; django.setup(); from benchmarks.queries import main; main()"
LONGEST = 10_000


def measure(bench: Bench) -> Iterator[Section]:
    """Measure on SQLite, then the CPU on PostgreSQL."""
    cpu: dict[str, float] = {}
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        server = stack.enter_context(product(made))
        provider = direct(bench.provider_url)
        yield _first_section(asyncio.run(_first_tokens(bench, server, provider, made)))
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


async def _first_tokens(bench: Bench, server: Product, provider: Target, made: Site) -> dict[str, float]:
    """Return the median milliseconds from the prompt to the first token: the provider's, a new and a long thread's."""
    seen: dict[str, list[float]] = {PROVIDER: [], "new": [], "long": []}
    client, asking = await server.open(0), await provider.open(0)
    for _ in range(5 if bench.quick else bench.rounds * 10):
        for name, thread in (("new", ""), ("long", made.long_threads[LONGEST])):
            client.received.clear()
            start = time.monotonic()
            server.send(client, "Hello", thread=thread)
            # The first token and the end may come in one read, so the first is looked up afterwards.
            await client.until(server.end)
            first = next(came for came, text in client.received if _FIRST.search(text))
            seen[name].append((first - start) * 1000)
            await asyncio.sleep(0.02)
        start = time.monotonic()
        provider.send(asking, "Hello")
        await asking.until(_FIRST)
        seen[PROVIDER].append((asking.received[-1][0] - start) * 1000)
    await close_all([client, asking])
    return {name: median(values) for name, values in seen.items()}


def _first_section(medians: dict[str, float]) -> Section:
    own = medians[PROVIDER]
    beside = f"the provider itself {number(own)} ms"
    lines = [
        Line("new thread, p50", medians["new"] - own, "ms", 6, beside=beside, is_work=True),
        Line("thread of 10,000 messages, p50", medians["long"] - own, "ms", 9, beside=beside, is_work=True),
    ]
    how = "From the client's prompt to the first token at the client, less the provider's own time; SQLite."
    return Section("Time to the first token that the product adds", how, lines)


async def _cpu_of_turns(bench: Bench, server: Product, thread: str = "") -> float:
    """Return the median milliseconds of the server's CPU for one turn whose answer is one token."""
    spent = []
    turns = 5 if bench.quick else 50
    client = await server.open(1 if not thread else 0)
    async for _ in _times(bench.rounds + 1):
        start = server.cpu()
        for _ in range(turns):
            server.send(client, "Hello", thread=thread)
            await client.until(server.end)
        spent.append((server.cpu() - start) / turns * 1000)
    await close_all([client])
    return median(spent[1:])


async def _times(rounds: int) -> AsyncIterator[int]:
    """Yield rounds with a pause between, since a connection may send only so many frames a second."""
    for number_of_round in range(rounds):
        yield number_of_round
        await asyncio.sleep(2.5)


def _queries(made: Site) -> dict[str, int]:
    """Return the number of queries of a turn, by thread."""
    threads = {f"{size:,}": thread for size, thread in made.long_threads.items()}
    with started([sys.executable, "-c", COUNT, json.dumps(threads)], made.env) as process:
        counts: dict[str, int] = json.loads(process.read_line())
    return counts


def _cpu_section(cpu: dict[str, float], queries: dict[str, int], how: str) -> Section:
    goals = {"SQLite": 6.0, "PostgreSQL": 8.0}
    lines = [Line(f"CPU of a turn, {name}", value, "ms", goals.get(name), is_work=True) for name, value in cpu.items()]
    beside = ", ".join(f"{name} {count}" for name, count in queries.items())
    lines.append(Line("queries of a turn, the most", float(max(queries.values())), "", 8, beside=beside))
    apart = queries[f"{LONGEST:,}"] - queries["two messages"]
    lines.append(Line("queries that 10,000 messages add", float(apart), "", 0))
    how += " All that the server's process does for a turn of one token, websocket and provider's client included."
    return Section("A whole turn beside its tokens, 20 tools", how, lines)
