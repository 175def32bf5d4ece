"""Two hundred people who read along at 50 tokens a second: what the product adds to the provider's own latency."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from statistics import median, quantiles

import psycopg
import redis

from benchmarks.bench import Bench
from benchmarks.report import Line, Section, number
from benchmarks.speed import slowness
from benchmarks.ways import Direct, Product, Way, close_all, naive, product, relay, site
from benchmarks.wire import Socket, Wire

STREAMS, RATE = 200, 50
# The streams are opened in this time, each at a moment of its own, and then all go on together. Moments that lie evenly
# apart would make all tokens fall due at once: one in 20 ms, as the tokens are.
OPENING_SECONDS = 4
_MOMENTS = random.Random(50)
SETTLING_SECONDS = 0.5
# A stream keeps pace if its answer takes no longer than the tokens take to be sent, and this.
SLACK_SECONDS = 0.25
_STAMP = re.compile(rb"(\d{7}\.\d{6})")
_SEQ = re.compile(rb'"seq":(\d+)\}\}\}$')
POSTGRES = os.environ.get("BENCH_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
REDIS = os.environ.get("BENCH_REDIS", "redis://127.0.0.1:6379/15")
DATABASE = "assistant_bench"


@dataclass(frozen=True, slots=True)
class Pace:
    """What one round of streams was like: latencies in milliseconds, and the share of streams that kept pace.

    `p50` and `p99` are of the tokens that were sent while all streams went on, `opening` is the 99th percentile of
    those before. Infinite where they never went on together.
    """

    p50: float
    p99: float
    on_pace: float
    opening: float


def measure(bench: Bench) -> Iterator[Section]:
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        ways: list[Way] = [
            _direct(bench),
            stack.enter_context(product(made)),
            *(stack.enter_context(make(bench.provider_url)) for make in (naive, relay)),
        ]
        fewer = _fewer(bench)
        paces = asyncio.run(_rounds(bench, ways, STREAMS))
        at_its_load = asyncio.run(_rounds(bench, ways[:2], fewer)) if fewer < STREAMS else None
        yield _section(paces, at_its_load, fewer, bench)
    yield from _two_processes(bench, fewer)


def _direct(bench: Bench) -> Direct:
    return Direct("the provider directly", int(bench.provider_url.split(":")[2].split("/")[0]), None)


def _fewer(bench: Bench) -> int:
    """How many streams are as much for this machine as `STREAMS` are for that on which the goals were set."""
    return min(STREAMS, round(STREAMS / slowness(bench) / 4) * 4)


def _seconds(bench: Bench) -> int:
    """For how long all streams go on together."""
    return 2 if bench.quick else 6


def _question(bench: Bench) -> str:
    return f"[tokens={_tokens(bench)} rate={RATE}]"


def _tokens(bench: Bench) -> int:
    return RATE * (OPENING_SECONDS + _seconds(bench))


async def _rounds(bench: Bench, ways: Sequence[Way], streams: int) -> dict[str, Pace]:
    seen: dict[str, list[Pace]] = {way.name: [] for way in ways}
    for _ in range(bench.few_rounds):
        for way in ways:
            seen[way.name].append(await _round(bench, way, streams))
    return {name: _middle(paces) for name, paces in seen.items()}


async def _round(bench: Bench, way: Way, streams: int) -> Pace:
    wires = await _open(way, streams)
    await _watch(way, wires, bench)
    pace = _pace_of(wires, bench)
    await close_all(wires)
    return pace


async def _open(way: Way, streams: int) -> list[Wire]:
    """All clients, connected a few at a time, each with one short answer behind it."""
    wires = []
    for first in range(0, streams, 20):
        group = await asyncio.gather(*(way.open(number) for number in range(first, min(streams, first + 20))))
        if not isinstance(way, Direct):
            await asyncio.gather(*(way.ask(wire, "Hello") for wire in group))
        wires.extend(group)
    return wires


async def _watch(way: Way, wires: Sequence[Wire], bench: Bench) -> None:
    """Every client asks once, and reads to the end."""

    async def one(wire: Wire) -> None:
        await asyncio.sleep(_MOMENTS.uniform(0, OPENING_SECONDS))
        wire.received.clear()
        await way.ask(wire, _question(bench))

    await asyncio.gather(*(one(wire) for wire in wires))


def _pace_of(wires: Sequence[Wire], bench: Bench) -> Pace:
    tokens = _tokens(bench)
    streams = []
    for wire in wires:
        stamps = [(came, float(stamp)) for came, text in wire.received for stamp in _STAMP.findall(text)]
        if len(stamps) != tokens and not (len(stamps) >= tokens * 0.98 and not isinstance(wire, Socket)):
            raise RuntimeError(f"{len(stamps)} tokens came of {tokens}")
        streams.append(stamps)
    begins = max(stamps[0][1] for stamps in streams) + SETTLING_SECONDS
    ends = min(stamps[-1][1] for stamps in streams)
    together = [(came - sent) * 1000 for stamps in streams for came, sent in stamps if begins <= sent <= ends]
    before = [(came - sent) * 1000 for stamps in streams for came, sent in stamps if sent < begins]
    on_pace = sum(stamps[-1][0] - stamps[0][1] <= tokens / RATE + SLACK_SECONDS for stamps in streams)
    if not together:  # opening them took longer than the first of them went on
        return Pace(inf, inf, on_pace / len(wires), quantiles(before, n=100)[98])
    measured = quantiles(together, n=100)
    return Pace(measured[49], measured[98], on_pace / len(wires), quantiles(before, n=100)[98])


def _middle(paces: Sequence[Pace]) -> Pace:
    return Pace(*(median(getattr(pace, name) for pace in paces) for name in ("p50", "p99", "on_pace", "opening")))


@dataclass(frozen=True, slots=True)
class _Shared:
    """What rounds on two processes were like: for those who asked, for those who followed in the other process, and for
    clients of the provider, each round in turn; and how many events did not come."""

    asking: Pace
    following: Pace
    direct: Pace
    lost: int

    @property
    def added(self) -> float:
        """What is added to the provider's own latency, 99th percentile, in milliseconds."""
        return self.asking.p99 - self.direct.p99


def _added(paces: dict[str, Pace], name: str) -> float:
    """What the product adds to the provider's own latency."""
    return float(getattr(paces["the product"], name) - getattr(paces["the provider directly"], name))


def _section(paces: dict[str, Pace], at_its_load: dict[str, Pace] | None, fewer: int, bench: Bench) -> Section:
    ours, direct = paces["the product"], paces["the provider directly"]
    lines = [Line("streams that keep pace", ours.on_pace * 100, "%", 100, True)]
    for name, goal in (("p50", 1.0), ("p99", 5.0)):
        others = [
            f"{way} {number(getattr(pace, name) - getattr(direct, name))}"
            for way, pace in paces.items()
            if way not in ("the product", "the provider directly")
        ]
        beside = f"{', '.join(others)}; the provider directly {number(getattr(direct, name))}"
        there = None if at_its_load is None else _added(at_its_load, name)
        what = f"latency added to a token, {name}"
        lines.append(Line(what, _added(paces, name), "ms", goal, beside=beside, at_its_load=there))
    lines.append(Line("the same while they are opened, p99", ours.opening - direct.opening, "ms"))
    how = (
        f"{STREAMS} clients, opened within {OPENING_SECONDS} s, then {_seconds(bench)} s together of {RATE} tokens a "
        "second each; every token says when the provider sent it. A client that asks the provider directly is "
        f"measured in the same round.{_there(at_its_load, fewer)}"
    )
    return Section(f"{STREAMS} streams of {RATE} tokens a second", how, lines)


def _there(at_its_load: object, fewer: int) -> str:
    return "" if at_its_load is None else f" *There* is {fewer} streams, which are as much for this machine."


def _two_processes(bench: Bench, fewer: int) -> Iterator[Section]:
    """The same on PostgreSQL and Redis; half of the readers follow from the other process."""
    title = f"{STREAMS} streams of {RATE} tokens a second, PostgreSQL and Redis, two processes"
    try:
        url = fresh_database()
    except (psycopg.OperationalError, redis.RedisError) as exc:
        yield Section(title, f"Not measured: {str(exc).splitlines()[0]}", [])
        return
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url, url, REDIS))
        servers = [stack.enter_context(product(made, name)) for name in ("first", "second")]
        seen = asyncio.run(_shared(bench, servers, STREAMS))
        at_its_load = asyncio.run(_shared(bench, servers, fewer)) if fewer < STREAMS else None
        yield _shared_section(title, seen, at_its_load, fewer)


def fresh_database() -> str:
    """The address of an empty database, and an empty Redis. Raises what the clients raise if they are not there."""
    with psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {DATABASE}")
    with redis.Redis.from_url(REDIS, socket_connect_timeout=3) as client:
        client.flushdb()
    return POSTGRES.rpartition("/")[0] + f"/{DATABASE}"


async def _shared(bench: Bench, servers: Sequence[Product], streams: int) -> _Shared:
    asking, following, direct, lost = [], [], [], 0
    for _ in range(bench.rounds):
        direct.append(await _round(bench, _direct(bench), streams))
        pairs = [(servers[number % 2], servers[1 - number % 2]) for number in range(streams)]
        wires = [await here.open(number) for number, (here, _) in enumerate(pairs)]
        await asyncio.gather(*(here.ask(wire, "Hello") for (here, _), wire in zip(pairs, wires, strict=True)))
        others = [await there.open(number) for number, (_, there) in enumerate(pairs) if number < streams // 4]
        await asyncio.gather(*(_ask_and_follow(bench, place, pairs, wires, others) for place in range(streams)))
        asking.append(_pace_of(wires, bench))
        following.append(_pace_of(others, bench))
        lost += sum(_gaps(wire) for wire in (*wires, *others))
        await close_all([*wires, *others])
    return _Shared(_middle(asking), _middle(following), _middle(direct), lost)


async def _ask_and_follow(
    bench: Bench, place: int, pairs: Sequence[tuple[Product, Product]], wires: Sequence[Wire], others: Sequence[Wire]
) -> None:
    here, wire = pairs[place][0], wires[place]
    await asyncio.sleep(_MOMENTS.uniform(0, OPENING_SECONDS))
    thread = here.threads[wire]
    waiting = []
    wire.received.clear()
    if place < len(others):
        other = others[place]
        assert isinstance(other, Socket)
        # It has seen the end of the first run, and waits for what follows.
        other.send(f'{{"type":"attach","threadId":"{thread}"}}')
        await other.until(here.end)
        other.received.clear()
        waiting.append(other.until(here.end))
    here.say(wire, _question(bench), thread=thread)
    await asyncio.gather(wire.until(here.end), *waiting)


def _gaps(wire: Wire) -> int:
    """Events that a client did not get, by their numbers."""
    seqs = [int(found[1]) for _, text in wire.received if (found := _SEQ.search(text))]
    return max(seqs) - len(set(seqs))


def _shared_section(title: str, seen: _Shared, at_its_load: _Shared | None, fewer: int) -> Section:
    there, lost = None, seen.lost
    if at_its_load is not None:
        there = at_its_load.added
        lost += at_its_load.lost
    beside = f"p50 {number(seen.asking.p50 - seen.direct.p50)}; the provider directly {number(seen.direct.p99)}"
    lines = [
        Line("latency added to a token, p99", seen.added, "ms", 12, beside=beside, at_its_load=there),
        Line("the same while they are opened, p99", seen.asking.opening - seen.direct.opening, "ms"),
        Line(
            "the same read from the other process, p99",
            seen.following.p99 - seen.direct.p99,
            "ms",
            beside=f"p50 {number(seen.following.p50 - seen.direct.p50)}",
        ),
        Line("streams that keep pace", seen.asking.on_pace * 100, "%", 100, True),
        Line("events lost", float(lost), "", 0),
    ]
    how = (
        f"100 clients in each of two processes, and {STREAMS // 4} more that follow runs of the other process. Every "
        f"event's number is checked. {STREAMS} clients that ask the provider directly are measured in turn."
        f"{_there(at_its_load, fewer)}"
    )
    return Section(title, how, lines)
