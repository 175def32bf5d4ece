"""The constants of docs/scale.md on PostgreSQL and Redis, and the simulation compared with what it simulates."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import psycopg
import redis

from benchmarks.bench import Bench
from benchmarks.compare import open_clients
from benchmarks.load_client import LoadClient, WebSocketClient
from benchmarks.processes import started
from benchmarks.report import Line, Section, number
from benchmarks.rows.pace import REDIS, fresh_database
from benchmarks.scale.constants import NAMES
from benchmarks.scale.simulation import Costs, Crowd, Seen, Simulation
from benchmarks.targets import Product, Site, close_all, product, site
from benchmarks.workload import Workload

TURN = Workload(tokens=1, streams=20, answers=10)
PACED = Workload(tokens=500, streams=50, rate=50, opening_seconds=1.0)
IDLE_SOCKETS, IDLE_SECONDS = 1_000, 20
# The simulation's figures may differ from those that are measured by this share.
TOLERANCE = 0.15
PLACES, SECONDS = 10, 30
CROWD = Crowd("the crowd", clients=14, tokens=50, rate=50)
NEIGHBOUR = Crowd("the neighbour", clients=2, tokens=50, rate=50)
TENANT = "neighbour"
MAKE = "import django; django.setup(); from benchmarks.scale.neighbour import main; main('neighbour')"
_FIRST = re.compile(rb"TEXT_MESSAGE_CONTENT")


def measure(bench: Bench) -> Iterator[Section]:
    """Measure the constants, then the queue and its simulation."""
    try:
        url = fresh_database()
    except (psycopg.OperationalError, redis.RedisError) as exc:
        yield Section("Constants of scale", f"Not measured: {str(exc).splitlines()[0]}", [])
        return
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url, url, REDIS, visitors=IDLE_SOCKETS))
        server = stack.enter_context(product(made))
        rounds = [asyncio.run(_constants(bench, server, made, url)) for _ in range(bench.few_rounds)]
        values = {name: median(one[name] for one in rounds) for name in rounds[0]}
    yield _constants_section(values)
    yield from _queue(bench, values)


@dataclass(frozen=True, slots=True)
class _Counters:
    """What the process, Redis and PostgreSQL have used so far."""

    cpu: float
    redis_cpu: float
    redis_commands: int
    redis_bytes: int
    database_cpu: float
    transactions: int
    database_bytes: int

    def since(self, earlier: _Counters) -> dict[str, float]:
        return {name: getattr(self, name) - getattr(earlier, name) for name in self.__slots__}


def _counters(server: Product, url: str) -> _Counters:
    with redis.Redis.from_url(REDIS) as client:
        info = client.info()
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') FROM pg_stat_database"
            " WHERE datname = current_database()"
        ).fetchone()
    assert row is not None
    return _Counters(
        cpu=server.cpu(),
        redis_cpu=info["used_cpu_user"] + info["used_cpu_sys"],
        redis_commands=info["total_commands_processed"],
        redis_bytes=info["total_net_input_bytes"] + info["total_net_output_bytes"],
        database_cpu=_cpu_of_postgres(),
        transactions=int(row[0]),
        database_bytes=int(row[1]),
    )


def _cpu_of_postgres() -> float:
    """Return the seconds of CPU that PostgreSQL's running processes have used; 0 if it runs on another machine."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition(") ")
        except OSError:  # it has ended
            continue
        if "(postgres" in name:
            ticks += sum(map(int, rest.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


async def _constants(bench: Bench, server: Product, made: Site, url: str) -> dict[str, float]:
    turn, paced = bench.sized(TURN), bench.sized(PACED)
    assert server.process is not None
    empty = server.process.memory()
    of_turns = await _used(server, url, turn)
    before = server.process.memory()
    running: list[int] = []
    of_tokens = await _used(server, url, paced, running)
    turns, tokens = turn.total_answers, paced.total_tokens
    per_turn = {name: value / turns for name, value in of_turns.items()}
    # Only streams write to Redis and use its CPU for each token; a turn's own part is taken away.
    per_token = {name: (value - per_turn[name] * paced.total_answers) / tokens for name, value in of_tokens.items()}
    sessions = made.sessions[-IDLE_SOCKETS:][: 100 if bench.quick else None]
    of_sockets = await _idle(server, sessions, 2 if bench.quick else IDLE_SECONDS)
    return {
        "turn_cpu": per_turn["cpu"],
        "token_cpu": per_token["cpu"],
        "run_bytes": max(0, max(running) - before) / paced.streams,
        "process_bytes": empty,
        "redis_commands": per_token["redis_commands"],
        "redis_bytes": per_token["redis_bytes"],
        "redis_cpu": per_token["redis_cpu"],
        "transactions": per_turn["transactions"],
        "database_cpu": per_turn["database_cpu"],
        "database_bytes": per_turn["database_bytes"],
        **of_sockets,
    }


async def _used(server: Product, url: str, workload: Workload, memory: list[int] | None = None) -> dict[str, float]:
    """Return what the answers of a workload used; `memory` gets the process's memory in the middle of them."""
    clients = await open_clients(server, workload.streams)
    before = _counters(server, url)

    async def one(client: LoadClient, moment: float) -> None:
        await asyncio.sleep(moment)
        for _ in range(workload.answers):
            await server.ask(client, workload.prompt)

    asking = asyncio.gather(*map(one, clients, workload.moments(0)))
    if memory is not None:
        assert server.process is not None
        await asyncio.sleep(workload.tokens / workload.rate / 2)
        memory.append(await asyncio.to_thread(server.process.memory))
    await asking
    # PostgreSQL's processes report their transactions within a second of the last one.
    await asyncio.sleep(1.5)
    used = _counters(server, url).since(before)
    await close_all(clients)
    return used


async def _idle(server: Product, sessions: Sequence[str], seconds: float) -> dict[str, float]:
    assert server.process is not None
    before = server.process.memory()
    clients = [await server.sign_in(session) for session in sessions]
    await asyncio.sleep(2)
    start = server.cpu()
    await asyncio.sleep(seconds)
    share = (server.cpu() - start) / seconds / len(clients)
    grown = (server.process.memory() - before) / len(clients)
    await close_all(clients)
    return {"socket_bytes": grown, "socket_cpu": share}


def _constants_section(values: Mapping[str, float]) -> Section:
    lines = [Line(what, values[name] * factor, unit) for name, (what, factor, unit) in NAMES.items()]
    how = (
        f"One process on PostgreSQL and Redis: {TURN.total_answers} turns of one token by {TURN.streams} clients; "
        f"{PACED.streams} answers of {PACED.tokens} tokens at {PACED.rate} a second; {IDLE_SOCKETS:,} signed-in "
        "connections that say nothing. The tokens' part of Redis is that of the answers without that of their turns."
    )
    return Section("Constants of scale, PostgreSQL and Redis", how, lines)


def _queue(bench: Bench, values: Mapping[str, float]) -> Iterator[Section]:
    """Measure a queue in which two tenants take turns, and simulate it with the constants."""
    limits = {"ASSISTANT_MAX_RUNS": str(PLACES), "ASSISTANT_RUN_QUEUE_SECONDS": "600"}
    with site(bench.provider_url) as made:
        with started([sys.executable, "-c", MAKE], made.env) as maker:
            key = json.loads(maker.read_line())
        with product(made, env=limits) as server:
            alone = asyncio.run(_alone(server))
            rounds = [asyncio.run(_beside(bench, server, key)) for _ in range(bench.few_rounds)]
    # A run's own time beside its tokens, from its question to its end, half before them and half after.
    own = max(0.0, alone - CROWD.tokens / CROWD.rate - values["turn_cpu"])
    costs = Costs(values["turn_cpu"], values["token_cpu"], opening=own / 2)
    seconds = _seconds(bench)
    simulated = Simulation(processes=1, places=PLACES, costs=costs, crowds=(CROWD, NEIGHBOUR)).run(seconds)
    yield _comparison(rounds, simulated, seconds)


def _seconds(bench: Bench) -> int:
    return 5 if bench.quick else SECONDS


async def _alone(server: Product) -> float:
    """Return the median seconds of a run that waits for nobody."""
    client = await server.open(0)
    seconds = []
    for _ in range(5):
        start = time.monotonic()
        await server.ask(client, _prompt(CROWD))
        seconds.append(time.monotonic() - start)
    await close_all([client])
    return median(seconds)


def _prompt(crowd: Crowd) -> str:
    return Workload(tokens=crowd.tokens, rate=int(crowd.rate)).prompt


async def _beside(bench: Bench, server: Product, key: str) -> dict[str, Seen]:
    """Let the clients of both tenants ask again and again, and return what they saw."""
    seen = {crowd.name: Seen() for crowd in (CROWD, NEIGHBOUR)}
    neighbour = replace(server)
    address, headers = f"ws://127.0.0.1:{server.port}/ws/{TENANT}/support/", {"Authorization": f"Bearer {key}"}
    others: list[LoadClient] = [await WebSocketClient.open(address, headers) for _ in range(NEIGHBOUR.clients)]
    crowd = [await server.open(number) for number in range(CROWD.clients)]
    began = time.monotonic()
    tasks = [
        asyncio.create_task(_again(target, client, one, seen[one.name], began))
        for target, clients, one in ((server, crowd, CROWD), (neighbour, others, NEIGHBOUR))
        for client in clients
    ]
    await asyncio.sleep(_seconds(bench))
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    for one in ended:
        if isinstance(one, Exception):
            raise one
    await close_all([*crowd, *others])
    # The runs that were cut here end by themselves before the next round.
    await asyncio.sleep(2 * CROWD.tokens / CROWD.rate * (1 + CROWD.clients / PLACES))
    return seen


async def _again(target: Product, client: LoadClient, crowd: Crowd, seen: Seen, began: float) -> None:
    while True:
        client.received.clear()
        start = time.monotonic()
        await target.ask(client, _prompt(crowd))
        if target.end.search(client.received[-1][1]) and b"RUN_ERROR" in client.received[-1][1]:
            raise RuntimeError(f"a run was not answered: {client.received[-1][1][:300]!r}")
        first = next(came for came, payload in client.received if _FIRST.search(payload))
        seen.waits.append(first - start)
        seen.ends.append(time.monotonic() - began)


def _comparison(rounds: Sequence[Mapping[str, Seen]], simulated: Mapping[str, Seen], seconds: int) -> Section:
    lines = []
    for crowd in (CROWD, NEIGHBOUR):
        ends = median(len(seen[crowd.name].ends) for seen in rounds)
        waits = median(_mean(seen[crowd.name].waits) for seen in rounds)
        theirs = simulated[crowd.name]
        lines += [
            _agreement(f"runs of {crowd.name}", len(theirs.ends), ends, ""),
            _agreement(f"its mean time to the first token, {crowd.name}", _mean(theirs.waits), waits, " s"),
        ]
    how = (
        f"One process with {PLACES} runs at once, for {seconds} s: {CROWD.clients} clients of one tenant and "
        f"{NEIGHBOUR.clients} of another ask again as soon as they have their answer of {CROWD.tokens} tokens, "
        f"{CROWD.rate:g} a second. The simulation gets the constants above and the time of one run alone. Goal: it "
        f"differs by at most {TOLERANCE:.0%}."
    )
    return Section("The simulation beside what it simulates: a queue of two tenants", how, lines)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _agreement(what: str, simulated: float, measured: float, unit: str) -> Line:
    off = abs(simulated - measured) / measured * 100
    beside = f"simulated {number(simulated)}{unit}, measured {number(measured)}{unit}"
    return Line(f"{what}: simulated and measured differ by", off, "%", TOLERANCE * 100, beside=beside)
