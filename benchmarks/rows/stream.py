"""The whole product at full speed: CPU of one stream and of fifty, against what people would use instead."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from benchmarks.bench import Bench
from benchmarks.compare import Comparison, compare
from benchmarks.report import Line, Section, against, beside_of
from benchmarks.targets import CHAINLIT, NAIVE, PRODUCT, RELAY, Target, chainlit, naive, product, relay, site
from benchmarks.workload import Workload

OTHERS = (NAIVE, CHAINLIT, RELAY)
SHORT, LONG, STREAMS = 200, 4_000, 50
# A turn has a cost of its own, so ratios depend on the length of the answers: every server is measured at both.
TURN = Workload(tokens=1, answers=20)
ONE_SHORT, ONE_LONG = Workload(tokens=SHORT, answers=10), Workload(tokens=LONG, answers=3)
MANY = (Workload(tokens=SHORT, streams=STREAMS), Workload(tokens=LONG, streams=STREAMS))
# At least so many times the product's CPU for the same workload.
ONE_STREAM_GOAL = 20.0
GOALS: Mapping[int, Mapping[str, float]] = {
    SHORT: {NAIVE: 4.0, CHAINLIT: 6.0},
    LONG: {NAIVE: 15.0, CHAINLIT: 20.0},
}


def measure(bench: Bench) -> Iterator[Section]:
    """All servers run side by side and are measured in turn."""
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        targets: list[Target] = [
            stack.enter_context(product(made)),
            *(stack.enter_context(make(bench.provider_url)) for make in (naive, chainlit, relay)),
        ]
        turn, short, long = (bench.sized(workload) for workload in (TURN, ONE_SHORT, ONE_LONG))
        yield _one(asyncio.run(compare(targets, (turn, short, long), bench.rounds)), turn, short, long)
        for workload, rounds in zip(map(bench.sized, MANY), (bench.rounds, bench.few_rounds), strict=True):
            yield _many(asyncio.run(compare(targets, [workload], rounds)), workload)


def _one(seen: Comparison, turn: Workload, short: Workload, long: Workload) -> Section:
    lines = []
    for title, workload in (
        ("CPU of a turn whose answer is one token", turn),
        (f"CPU of an answer of {short.tokens:,} tokens, turn included", short),
        (f"CPU of an answer of {long.tokens:,} tokens, turn included", long),
    ):
        cpu = {name: seen.per_answer(name, workload) * 1000 for name in (PRODUCT, *OTHERS)}
        lines.append(Line(title, cpu.pop(PRODUCT), "ms", beside=beside_of(cpu)))
    cpu = {name: seen.per_thousand(name, long, turn) * 1000 for name in (PRODUCT, *OTHERS)}
    lines.append(Line("CPU per 1,000 tokens, turn overhead apart", cpu.pop(PRODUCT), "ms", beside=beside_of(cpu)))
    lines += against(NAIVE, seen.ratio_without_turn(NAIVE, long, turn), "times less", ONE_STREAM_GOAL)
    how = (
        "One client that reads one answer after the other at full speed; CPU of the server's process. Every server "
        f"sends the same answers: {turn.answers} of one token, {short.answers} of {short.tokens:,} and {long.answers} "
        f"of {long.tokens:,} a round. The product with everything on: event log in memory, checkpoints, audit, "
        "numbered AG-UI events; SQLite."
    )
    return Section("Whole product, one stream at full speed", how, lines)


def _many(seen: Comparison, workload: Workload) -> Section:
    rates = {name: workload.total_tokens / seen.cpu(name, workload) for name in (PRODUCT, *OTHERS)}
    title = f"{workload.streams} streams, tokens per second of CPU"
    lines = [Line(title, rates.pop(PRODUCT), "tokens", beside=beside_of(rates))]
    for name, goal in GOALS[LONG if workload.tokens > SHORT else SHORT].items():
        lines += against(name, seen.ratio(name, workload), "times", goal)
    lines.append(Line("the same, against the floor", seen.ratio(RELAY, workload), "times"))
    how = (
        f"{workload.streams} clients at once, each with an answer of {workload.tokens:,} tokens at full speed, the "
        "same for every server; tokens of all answers divided by the CPU seconds of the server, turns included: what "
        "one core carries."
    )
    return Section(f"Whole product, {workload.streams} streams, answers of {workload.tokens:,} tokens", how, lines)
