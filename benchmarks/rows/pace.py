"""Two hundred streams of 50 tokens a second: the latency that the product adds to the provider's own."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from statistics import median, quantiles

import psycopg
import redis

from benchmarks.bench import Bench
from benchmarks.compare import open_clients
from benchmarks.load_client import LoadClient, WebSocketClient
from benchmarks.report import Line, Section, beside_of, number
from benchmarks.speed import slowness
from benchmarks.targets import PRODUCT, PROVIDER, Product, Target, close_all, direct, naive, product, relay, site
from benchmarks.workload import WARM_UP, Workload

STREAMS, RATE = 200, 50
# The streams begin within this time. Latency is measured from then on, while all of them run.
OPENING_SECONDS = 4
SETTLING_SECONDS = 0.5
# A stream keeps pace if its answer ends at most this much later than the provider's.
SLACK_SECONDS = 0.25
_STAMP = re.compile(rb"(\d{7}\.\d{6})")
_SEQ = re.compile(rb'"seq":(\d+)\}\}\}$')
POSTGRES = os.environ.get("BENCH_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
REDIS = os.environ.get("BENCH_REDIS", "redis://127.0.0.1:6379/15")
DATABASE = "assistant_bench"


@dataclass(frozen=True, slots=True)
class Pace:
    """One round: latencies in milliseconds, and the share of streams that kept pace.

    `p50` and `p99` are of the tokens that were sent while all streams ran, and infinite if they never ran together.
    `opening` is the 99th percentile of the tokens before that.
    """

    p50: float
    p99: float
    on_pace: float
    opening: float


def measure(bench: Bench) -> Iterator[Section]:
    """Measure with the event log in memory, then with PostgreSQL and Redis."""
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        targets: list[Target] = [
            direct(bench.provider_url),
            stack.enter_context(product(made)),
            *(stack.enter_context(make(bench.provider_url)) for make in (naive, relay)),
        ]
        workload, fewer = _workload(bench, STREAMS), _workload(bench, _fewer(bench))
        paces = asyncio.run(_rounds(bench, targets, workload))
        at_its_load = None if fewer == workload else asyncio.run(_rounds(bench, targets[:2], fewer))
        yield _section(paces, at_its_load, workload, fewer)
    yield from _two_processes(bench, workload, fewer)


def _fewer(bench: Bench) -> int:
    """Return how many streams are as much work for this machine as `STREAMS` are for that of the goals."""
    return min(STREAMS, round(STREAMS / slowness(bench) / 4) * 4)


def _workload(bench: Bench, streams: int) -> Workload:
    return Workload(RATE * (OPENING_SECONDS + _seconds(bench)), streams, rate=RATE, opening_seconds=OPENING_SECONDS)


def _seconds(bench: Bench) -> int:
    """Return for how long all streams run together."""
    return 2 if bench.quick else 6


async def _rounds(bench: Bench, targets: Sequence[Target], workload: Workload) -> dict[str, Pace]:
    seen: dict[str, list[Pace]] = {target.name: [] for target in targets}
    for number_of_round in range(bench.few_rounds):
        for target in targets:
            seen[target.name].append(await _round(target, workload, number_of_round))
    return {name: _middle(paces) for name, paces in seen.items()}


async def _round(target: Target, workload: Workload, number_of_round: int) -> Pace:
    clients = await open_clients(target, workload.streams)

    async def one(client: LoadClient, moment: float) -> None:
        await asyncio.sleep(moment)
        await target.ask(client, workload.prompt)

    await asyncio.gather(*map(one, clients, workload.moments(number_of_round)))
    pace = _pace_of(clients, workload)
    await close_all(clients)
    return pace


def _pace_of(clients: Sequence[LoadClient], workload: Workload) -> Pace:
    streams = []
    for client in clients:
        stamps = [(came, float(stamp)) for came, text in client.received for stamp in _STAMP.findall(text)]
        # A relay's frames, and reads from the provider, may cut a token in two.
        is_cut = not isinstance(client, WebSocketClient) and len(stamps) >= workload.tokens * 0.98
        if len(stamps) != workload.tokens and not is_cut:
            raise RuntimeError(f"{len(stamps)} tokens came of {workload.tokens}")
        streams.append(stamps)
    begins = max(stamps[0][1] for stamps in streams) + SETTLING_SECONDS
    ends = min(stamps[-1][1] for stamps in streams)
    together = [(came - sent) * 1000 for stamps in streams for came, sent in stamps if begins <= sent <= ends]
    before = [(came - sent) * 1000 for stamps in streams for came, sent in stamps if sent < begins]
    longest = workload.tokens / RATE + SLACK_SECONDS
    on_pace = sum(stamps[-1][0] - stamps[0][1] <= longest for stamps in streams) / len(clients)
    opening = quantiles(before, n=100)[98]
    if not together:  # the last stream began after the first had ended
        return Pace(inf, inf, on_pace, opening)
    measured = quantiles(together, n=100)
    return Pace(measured[49], measured[98], on_pace, opening)


def _middle(paces: Sequence[Pace]) -> Pace:
    return Pace(*(median(getattr(pace, name) for pace in paces) for name in ("p50", "p99", "on_pace", "opening")))


@dataclass(frozen=True, slots=True)
class _Shared:
    """Rounds on two processes.

    Args:
        asking: of the clients that sent the prompts.
        following: of the clients that followed the same runs in the other process.
        direct: of clients that asked the provider directly, round by round in turn.
        lost: how many events did not come.
    """

    asking: Pace
    following: Pace
    direct: Pace
    lost: int

    @property
    def added(self) -> float:
        """The milliseconds added to the provider's own latency, 99th percentile."""
        return self.asking.p99 - self.direct.p99


def _added(paces: Mapping[str, Pace], name: str) -> float:
    """Return the milliseconds that the product adds to the provider's own latency."""
    return float(getattr(paces[PRODUCT], name) - getattr(paces[PROVIDER], name))


def _section(
    paces: Mapping[str, Pace], at_its_load: Mapping[str, Pace] | None, workload: Workload, fewer: Workload
) -> Section:
    ours, provider = paces[PRODUCT], paces[PROVIDER]
    lines = [Line("streams that keep pace", ours.on_pace * 100, "%", 100, True)]
    for name, goal in (("p50", 1.0), ("p99", 5.0)):
        others = {
            target: getattr(pace, name) - getattr(provider, name)
            for target, pace in paces.items()
            if target not in (PRODUCT, PROVIDER)
        }
        beside = f"{beside_of(others)}; {PROVIDER} {number(getattr(provider, name))}"
        there = None if at_its_load is None else _added(at_its_load, name)
        what = f"latency added to a token, {name}"
        lines.append(Line(what, _added(paces, name), "ms", goal, beside=beside, at_its_load=there))
    lines.append(Line("the same while they are opened, p99", ours.opening - provider.opening, "ms"))
    together = workload.tokens // RATE - OPENING_SECONDS
    how = (
        f"{STREAMS} clients that begin within {OPENING_SECONDS} s, then {together} s together of {RATE} tokens a "
        "second each, the same for every server; every token carries the time at which the provider sent it. A client "
        f"that asks the provider directly is measured in the same round.{_there(at_its_load, fewer)}"
    )
    return Section(f"{STREAMS} streams of {RATE} tokens a second", how, lines)


def _there(at_its_load: object, fewer: Workload) -> str:
    if at_its_load is None:
        return ""
    return f" *There* is {fewer.streams} streams, which are as much work for this machine."


def _two_processes(bench: Bench, workload: Workload, fewer: Workload) -> Iterator[Section]:
    """Measure with PostgreSQL and Redis, and with clients that follow runs of the other process."""
    title = f"{STREAMS} streams of {RATE} tokens a second, PostgreSQL and Redis, two processes"
    try:
        url = fresh_database()
    except (psycopg.OperationalError, redis.RedisError) as exc:
        yield Section(title, f"Not measured: {str(exc).splitlines()[0]}", [])
        return
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url, url, REDIS))
        servers = [stack.enter_context(product(made, name)) for name in ("first", "second")]
        seen = asyncio.run(_shared(bench, servers, workload))
        at_its_load = None if fewer == workload else asyncio.run(_shared(bench, servers, fewer))
        yield _shared_section(title, seen, at_its_load, fewer)


def fresh_database() -> str:
    """Create an empty PostgreSQL database, empty the Redis database, and return the URL of the former.

    Raises:
        psycopg.OperationalError: PostgreSQL is not there.
        redis.RedisError: Redis is not there.
    """
    with psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {DATABASE}")
    with redis.Redis.from_url(REDIS, socket_connect_timeout=3) as client:
        client.flushdb()
    return POSTGRES.rpartition("/")[0] + f"/{DATABASE}"


async def _shared(bench: Bench, servers: Sequence[Product], workload: Workload) -> _Shared:
    asking, following, provider, lost = [], [], [], 0
    for number_of_round in range(bench.rounds):
        provider.append(await _round(direct(bench.provider_url), workload, number_of_round))
        pairs = [(servers[place % 2], servers[1 - place % 2]) for place in range(workload.streams)]
        clients = [await here.open(place) for place, (here, _) in enumerate(pairs)]
        await asyncio.gather(*(here.ask(client, WARM_UP) for (here, _), client in zip(pairs, clients, strict=True)))
        followers = [await there.open(place) for place, (_, there) in enumerate(pairs[: workload.streams // 4])]
        moments = workload.moments(number_of_round)
        await asyncio.gather(
            *(
                _ask_and_follow(pairs[place][0], client, followers[place : place + 1], workload, moments[place])
                for place, client in enumerate(clients)
            )
        )
        asking.append(_pace_of(clients, workload))
        following.append(_pace_of(followers, workload))
        lost += sum(_gaps(client) for client in (*clients, *followers))
        await close_all([*clients, *followers])
    return _Shared(_middle(asking), _middle(following), _middle(provider), lost)


async def _ask_and_follow(
    server: Product, client: LoadClient, followers: Sequence[LoadClient], workload: Workload, moment: float
) -> None:
    """Ask in the client's thread, which the followers attach to before."""
    await asyncio.sleep(moment)
    thread = server.threads[client]
    client.received.clear()
    for follower in followers:
        assert isinstance(follower, WebSocketClient)
        # The end of the warm-up run comes first, then the new run.
        follower.send(f'{{"type":"attach","threadId":"{thread}"}}')
        await follower.until(server.end)
        follower.received.clear()
    ends = [asyncio.ensure_future(follower.until(server.end)) for follower in followers]
    await asyncio.sleep(0)
    server.send(client, workload.prompt, thread=thread)
    await asyncio.gather(client.until(server.end), *ends)


def _gaps(client: LoadClient) -> int:
    """Return how many events a client did not get, by their sequence numbers."""
    seqs = [int(found[1]) for _, text in client.received if (found := _SEQ.search(text))]
    return max(seqs) - len(set(seqs))


def _shared_section(title: str, seen: _Shared, at_its_load: _Shared | None, fewer: Workload) -> Section:
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
        f"{STREAMS // 2} clients in each of two processes, and {STREAMS // 4} more that follow runs of the other "
        f"process. Every event's number is checked. {STREAMS} clients that ask the provider directly are measured in "
        "turn."
        f"{_there(at_its_load, fewer)}"
    )
    return Section(title, how, lines)
