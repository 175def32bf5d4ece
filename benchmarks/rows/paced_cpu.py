"""Answers that come at the pace of a model: CPU of every token when each wakes the server by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.bench import Bench
from benchmarks.compare import Comparison, compare
from benchmarks.report import Line, Section, against, beside_of
from benchmarks.targets import NAIVE, PRODUCT, RELAY, Target, naive, product, relay, site
from benchmarks.workload import Workload

OTHERS = (NAIVE, RELAY)
PACED = Workload(tokens=500, streams=100, rate=50, opening_seconds=1.0)
NAIVE_GOAL = 1.3


def measure(bench: Bench) -> Iterator[Section]:
    """All servers run side by side and are measured in turn."""
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        targets: list[Target] = [
            stack.enter_context(product(made)),
            *(stack.enter_context(make(bench.provider_url)) for make in (naive, relay)),
        ]
        workload = bench.sized(PACED)
        yield _section(asyncio.run(compare(targets, [workload], bench.rounds)), workload)


def _section(seen: Comparison, workload: Workload) -> Section:
    cpu = {
        name: seen.cpu(name, workload) / workload.total_tokens * 1e6  # milliseconds of 1,000 tokens
        for name in (PRODUCT, *OTHERS)
    }
    own = cpu.pop(PRODUCT)
    lines = [
        Line("CPU per 1,000 tokens, turns included", own, "ms", beside=beside_of(cpu)),
        *against(NAIVE, seen.ratio(NAIVE, workload), "times less", NAIVE_GOAL),
        Line("the same, over bare relay", 1 / seen.ratio(RELAY, workload), "times"),
    ]
    how = (
        f"{workload.streams} clients, one answer each of {workload.tokens:,} tokens at {workload.rate} tokens a "
        f"second, begun within {workload.opening_seconds:g} s at the same moments for every server; CPU of the "
        "server's process."
    )
    return Section(f"CPU of {workload.streams} streams of {workload.rate} tokens a second", how, lines)
