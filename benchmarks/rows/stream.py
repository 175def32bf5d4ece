"""The whole product flat out: CPU of one stream, and tokens a second of fifty, against what people would use."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median

from benchmarks.bench import Bench
from benchmarks.report import Line, Section, number
from benchmarks.ways import Product, Way, chainlit, close_all, naive, product, relay, site

STREAMS = 50
# Tokens of an answer and answers of one stream a round: each way works for a second or more.
ONE = {"the product": (4000, 15), "naive consumer": (1000, 8), "Chainlit": (1000, 5), "bare relay": (4000, 30)}
MANY = {"the product": 4000, "naive consumer": 400, "Chainlit": 200, "bare relay": 8000}
OURS = "the product"
_WORD = re.compile(rb"word\d ")


def measure(bench: Bench) -> Iterator[Section]:
    """All ways run side by side and are asked in turn."""
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        ways: list[Way] = [
            stack.enter_context(product(made)),
            *(stack.enter_context(make(bench.provider_url)) for make in (naive, chainlit, relay)),
        ]
        yield asyncio.run(_one(bench, ways))
        yield asyncio.run(_many(bench, ways))


async def _one(bench: Bench, ways: list[Way]) -> Section:
    per_thousand: dict[str, list[float]] = {way.name: [] for way in ways}
    overhead: dict[str, list[float]] = {way.name: [] for way in ways}
    for _ in range(bench.rounds):
        for way in ways:
            tokens, answers = ONE[way.name]
            answers = 2 if bench.quick else answers
            turn = await _cpu_of_answers(way, 1, answers * 2)
            whole = await _cpu_of_answers(way, tokens, answers)
            overhead[way.name].append(turn)
            per_thousand[way.name].append((whole - turn) / tokens * 1000)
    cpu = {name: median(values) * 1000 for name, values in per_thousand.items()}
    beside = ", ".join(f"{name} {number(value)}" for name, value in cpu.items() if name != OURS)
    lines = [Line("CPU per 1,000 tokens, turn overhead apart", cpu[OURS], "ms", 8, beside=beside, is_work=True)]
    turns = ", ".join(f"{name} {number(median(overhead[name]) * 1000)}" for name in cpu if name != OURS)
    lines.append(Line("a turn's overhead, of answers of one token", median(overhead[OURS]) * 1000, "ms", beside=turns))
    how = (
        "One client, one stream, answers of 1,000 or 4,000 tokens as fast as they go; CPU of the server's process. "
        "The product with everything on: event log in memory, checkpoints, audit, numbered AG-UI events; SQLite."
    )
    return Section("Whole product, one stream flat out", how, lines)


async def _cpu_of_answers(way: Way, tokens: int, answers: int) -> float:
    """CPU seconds of the server for one answer."""
    wire = await way.open(0)
    await way.ask(wire, f"[tokens={tokens}]")
    wire.received.clear()
    start = way.cpu()
    for _ in range(answers):
        await way.ask(wire, f"[tokens={tokens}]")
    spent = way.cpu() - start
    _check(sum(len(_WORD.findall(payload)) for _, payload in wire.received), tokens * answers, way)
    await close_all([wire])
    return spent / answers


async def _many(bench: Bench, ways: list[Way]) -> Section:
    rates: dict[str, list[float]] = {way.name: [] for way in ways}
    for _ in range(bench.rounds):
        for way in ways:
            try:
                rate = await _tokens_per_cpu_second(way, MANY[way.name] // (10 if bench.quick else 1))
            except TimeoutError:
                if isinstance(way, Product):
                    raise
                print(f"{way.name} lost an answer of {STREAMS} at once: left out of this round", file=sys.stderr)
                continue
            rates[way.name].append(rate)
    middle = {name: median(values) for name, values in rates.items()}
    ours = middle[OURS]
    beside = ", ".join(f"{name} {number(value)}" for name, value in middle.items() if name != OURS)
    lines = [Line(f"{STREAMS} streams, tokens per second of CPU", ours, "tokens", 60_000, True, beside, is_work=True)]
    for name, least in (("naive consumer", 15.0), ("Chainlit", 20.0)):
        lines.append(Line(f"the same, against {name}", ours / middle[name], "times", least, True))
    lines.append(Line("the same, against the floor", ours / middle["bare relay"], "times"))
    tokens = ", ".join(f"{name} {value:,}" for name, value in MANY.items())
    how = (
        f"{STREAMS} clients at once, one answer each as fast as it goes; tokens of all by CPU seconds of the "
        f"server, turns and all: what one core carries. Tokens of one answer: {tokens}."
    )
    return Section(f"Whole product, {STREAMS} streams flat out", how, lines)


async def _tokens_per_cpu_second(way: Way, tokens: int) -> float:
    wires = await asyncio.gather(*(way.open(number) for number in range(STREAMS)))
    await asyncio.gather(*(way.ask(wire, "Hello") for wire in wires))
    for wire in wires:
        wire.received.clear()
    start = way.cpu()
    await asyncio.gather(*(way.ask(wire, f"[tokens={tokens}]") for wire in wires))
    spent = way.cpu() - start
    _check(sum(len(_WORD.findall(text)) for wire in wires for _, text in wire.received), tokens * STREAMS, way)
    await close_all(wires)
    return tokens * STREAMS / spent


def _check(came: int, sent: int, way: Way) -> None:
    # A relay's frames may cut a word in two.
    if came != sent and (isinstance(way, Product) or abs(came - sent) > sent * 0.02):
        raise RuntimeError(f"{way.name}: {came} tokens came of {sent}")
