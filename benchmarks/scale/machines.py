"""The machines that a number of members needs, from measured constants and assumptions about what members do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Constants:
    """What was measured on PostgreSQL and Redis.

    Args:
        turn_cpu: seconds of a process's CPU of a turn beside its tokens.
        token_cpu: the same of one token that comes by itself.
        socket_bytes: memory of an idle connection.
        socket_cpu: share of a core of an idle connection.
        run_bytes: memory of a run that streams.
        process_bytes: memory of a process without connections.
        redis_commands: commands of one token.
        redis_bytes: bytes to and from Redis of one token.
        redis_cpu: seconds of Redis' CPU of one token.
        transactions: of a turn on PostgreSQL.
        database_cpu: seconds of PostgreSQL's CPU of a turn.
        database_bytes: bytes in the write-ahead log of a turn.
    """

    turn_cpu: float
    token_cpu: float
    socket_bytes: float
    socket_cpu: float
    run_bytes: float
    process_bytes: float
    redis_commands: float
    redis_bytes: float
    redis_cpu: float
    transactions: float
    database_cpu: float
    database_bytes: float


@dataclass(frozen=True, slots=True)
class Use:
    """What members do in the busiest minute.

    Args:
        online: the share of members with an open page.
        pause: seconds from one question of such a member to the next.
        tokens: of an answer.
        rate: tokens a second.
        thinking: seconds of a run in which nothing is streamed: the provider's first token, and tools.
    """

    online: float = 0.1
    pause: float = 300.0
    tokens: int = 400
    rate: float = 50.0
    thinking: float = 2.0


@dataclass(frozen=True, slots=True)
class Machine:
    """A usual server, and how far it is filled: the rest is for bursts, restarts and machines that fail."""

    cores: int = 16
    memory: float = 64e9
    filled: float = 0.5


@dataclass(frozen=True, slots=True)
class Need:
    """What a number of members needs in the busiest minute; machines are counted at `Machine.filled`."""

    members: int
    sockets: float
    turns: float
    runs: float
    tokens: float
    cores: float
    memory: float
    machines: int
    redis_commands: float
    redis_bytes: float
    redis_cores: float
    redis_servers: int
    transactions: float
    database_bytes: float
    database_cores: float
    databases: int


def need(members: int, constants: Constants, use: Use | None = None, machine: Machine | None = None) -> Need:
    """Return what so many members need. Redis uses one core a server, a database all cores of its machine."""
    use, machine = use or Use(), machine or Machine()
    sockets = members * use.online
    turns = sockets / use.pause
    tokens = turns * use.tokens
    runs = turns * (use.tokens / use.rate + use.thinking)
    cores = turns * constants.turn_cpu + tokens * constants.token_cpu + sockets * constants.socket_cpu
    processes = ceil(cores / machine.filled)
    memory = processes * constants.process_bytes + sockets * constants.socket_bytes + runs * constants.run_bytes
    redis_cores = tokens * constants.redis_cpu
    database_cores = turns * constants.database_cpu
    return Need(
        members=members,
        sockets=sockets,
        turns=turns,
        runs=runs,
        tokens=tokens,
        cores=cores,
        memory=memory,
        machines=max(ceil(processes / machine.cores), ceil(memory / machine.filled / machine.memory)),
        redis_commands=tokens * constants.redis_commands,
        redis_bytes=tokens * constants.redis_bytes,
        redis_cores=redis_cores,
        redis_servers=ceil(redis_cores / machine.filled),
        transactions=turns * constants.transactions,
        database_bytes=turns * constants.database_bytes,
        database_cores=database_cores,
        databases=ceil(database_cores / machine.filled / machine.cores),
    )


def table(needs: Sequence[Need]) -> str:
    """Return the needs as a Markdown table, a column for each number of members."""
    rows = [
        ("open connections", [f"{one.sockets:,.0f}" for one in needs]),
        ("turns a second", [_short(one.turns) for one in needs]),
        ("runs at once", [_short(one.runs) for one in needs]),
        ("tokens a second", [_short(one.tokens) for one in needs]),
        ("cores of web and worker processes, fully used", [_short(one.cores) for one in needs]),
        ("their memory", [f"{_short(one.memory / 1e9)} GB" for one in needs]),
        ("**machines for web and worker processes**", [f"**{one.machines:,}**" for one in needs]),
        ("Redis commands a second", [_short(one.redis_commands) for one in needs]),
        ("Redis traffic", [f"{_short(one.redis_bytes / 1e6)} MB/s" for one in needs]),
        ("**Redis servers**", [f"**{one.redis_servers:,}**" for one in needs]),
        ("transactions a second", [_short(one.transactions) for one in needs]),
        ("write-ahead log", [f"{_short(one.database_bytes / 1e6)} MB/s" for one in needs]),
        ("**PostgreSQL servers**", [f"**{one.databases:,}**" for one in needs]),
    ]
    head = ["In the busiest minute", *(f"{one.members:,} members" for one in needs)]
    lines = [_row(head), _row(["---", *("---" for _ in needs)]), *(_row([what, *cells]) for what, cells in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _short(value: float) -> str:
    """Return a number with two digits that mean something."""
    if value >= 100:
        return f"{float(f'{value:.2g}'):,.0f}"
    return f"{value:.2g}" if value >= 0.01 else "0"
