"""A thousand signed-in users who send nothing: memory and CPU, beside those of a bare server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack

from benchmarks.bench import Bench
from benchmarks.load_client import LoadClient
from benchmarks.report import Line, Section, number
from benchmarks.targets import Product, Site, Target, close_all, product, relay, site

SOCKETS = 1000
# Long enough for several of uvicorn's pings and of the product's checks of sessions.
SECONDS = 60
Connect = Callable[[int], Awaitable[LoadClient]]


def measure(bench: Bench) -> Iterator[Section]:
    """Open the sockets of both servers, then read the CPU of both for the same minute."""
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url, visitors=_count(bench)))
        ours = stack.enter_context(product(made))
        bare = stack.enter_context(relay(bench.provider_url))
        (memory, cpu), (bare_memory, bare_cpu) = asyncio.run(_measure(bench, ours, bare, made))
    beside = f"{number(memory)} KB in all, bare uvicorn {number(bare_memory)} KB"
    shares = f"{number(cpu * 100)} % of a core, bare uvicorn {number(bare_cpu * 100)} %; sessions are checked every 3 s"
    lines = [
        Line("memory of a socket over the bare server's", memory - bare_memory, "KB", 35, beside=beside),
        Line("CPU of idle sockets against the bare server's", cpu / bare_cpu, "times", 4, beside=shares),
    ]
    how = (
        f"{SOCKETS:,} websockets of as many members at each server; memory and CPU as the kernel counts them, the "
        f"latter for the same {SECONDS} s at both."
    )
    yield Section(f"{SOCKETS:,} idle sockets", how, lines)


def _count(bench: Bench) -> int:
    return 100 if bench.quick else SOCKETS


async def _measure(bench: Bench, ours: Product, bare: Target, made: Site) -> Sequence[tuple[float, float]]:
    """Return kilobytes of a socket, and the share of a core that all sockets take, for each of the servers."""

    def sign_in(number_of_client: int) -> Awaitable[LoadClient]:
        return ours.sign_in(made.sessions[number_of_client])

    targets: Sequence[tuple[Target, Connect]] = ((ours, sign_in), (bare, bare.open))
    opened = [await _open_all(target, connect, _count(bench)) for target, connect in targets]
    seconds = 3 if bench.quick else SECONDS
    before = [target.cpu() for target, _ in targets]
    await asyncio.sleep(seconds)
    shares = [(target.cpu() - start) / seconds for (target, _), start in zip(targets, before, strict=True)]
    await close_all([client for clients, _ in opened for client in clients])
    return [(memory, share) for (_, memory), share in zip(opened, shares, strict=True)]


async def _open_all(target: Target, connect: Connect, count: int) -> tuple[list[LoadClient], float]:
    """Open the sockets, and return them with the kilobytes that each adds."""
    assert target.process is not None
    first = await _open(connect, 50)  # loads what the first connections import
    if isinstance(target, Product):
        await target.ask(first[0], "Hello")
    before = target.process.memory()
    clients = await _open(connect, count)
    return [*first, *clients], (target.process.memory() - before) / count / 1024


async def _open(connect: Connect, count: int) -> list[LoadClient]:
    clients: list[LoadClient] = []
    for first in range(0, count, 25):
        clients.extend(await asyncio.gather(*(connect(place) for place in range(first, first + 25))))
    return clients
