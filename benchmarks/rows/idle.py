"""A thousand people who are signed in and say nothing: memory and CPU, over the bare server's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack

from benchmarks.bench import Bench
from benchmarks.report import Line, Section, number
from benchmarks.ways import Product, Way, close_all, product, relay, site
from benchmarks.wire import Wire

SOCKETS = 1000
# Whole rounds of what comes again: uvicorn's pings every 20 s, the looks at sessions every 3 s.
SECONDS = 60


def measure(bench: Bench) -> Iterator[Section]:
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url, visitors=_count(bench)))
        ours = stack.enter_context(product(made))
        bare = stack.enter_context(relay(bench.provider_url))
        own, busy = asyncio.run(_sockets(bench, ours, lambda n: ours.sign_in(made.sessions[n])))
        floor, floor_busy = asyncio.run(_sockets(bench, bare, bare.open))
    shares = f"{number(busy * 100)} % in all, bare uvicorn {number(floor_busy * 100)} %"
    looks = f"{shares}; sessions are looked at every 3 s"
    spent = max(0.0, busy - floor_busy) * 100
    beside = f"{number(own)} KB in all, bare uvicorn {number(floor)} KB"
    lines = [
        Line("memory of a socket over the bare server's", own - floor, "KB", 35, beside=beside),
        # "0 %" as people read it: what is rounded to it.
        Line("CPU while nobody says anything, over the bare server's", spent, "%", 0.5, beside=looks, is_work=True),
    ]
    how = (
        f"{SOCKETS:,} websockets, each of another member's session; "
        "memory and CPU as the kernel counts them, the latter for a minute."
    )
    yield Section(f"{SOCKETS:,} idle sockets", how, lines)


def _count(bench: Bench) -> int:
    return 100 if bench.quick else SOCKETS


async def _sockets(bench: Bench, way: Way, connect: Callable[[int], Awaitable[Wire]]) -> tuple[float, float]:
    """Kilobytes of one socket, and the share of a core that all of them take while idle."""
    assert way.process is not None
    few = await _open(connect, 50)  # what the first connections load for all
    if isinstance(way, Product):
        await way.ask(few[0], "Hello")
    before = way.process.memory()
    wires = await _open(connect, _count(bench))
    grown = way.process.memory() - before
    seconds = 3 if bench.quick else SECONDS
    start = way.cpu()
    await asyncio.sleep(seconds)
    busy = (way.cpu() - start) / seconds
    await close_all([*few, *wires])
    return grown / len(wires) / 1024, busy


async def _open(connect: Callable[[int], Awaitable[Wire]], count: int) -> Sequence[Wire]:
    wires: list[Wire] = []
    for first in range(0, count, 25):
        wires.extend(await asyncio.gather(*(connect(place) for place in range(first, first + 25))))
    return wires
