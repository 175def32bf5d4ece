"""Limits of tenants, members, keys, connections and runs; and what a tenant that floods costs its neighbour."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Ground
from benchmarks.resilience.flooding import NEIGHBOUR, admit_floods, neighbour_of_a_flood
from benchmarks.resilience.limits.faults import (
    ask_no_limit,
    count_no_calls,
    count_no_connections,
    count_no_frames,
    count_no_requests,
    count_twice,
    count_without_locking,
    tell_no_time,
    tell_the_wrong_time,
    write_no_count,
)
from benchmarks.resilience.limits.frames import try_frames
from benchmarks.resilience.limits.quotas import try_quotas
from benchmarks.resilience.limits.runs import answer, try_runs
from benchmarks.resilience.limits.seen import ABOVE, BELOW, UNTRUE, UNTYPED, Seen
from benchmarks.resilience.sites import POSTGRES, SQLITE
from tests.fake_provider import FakeProvider

TITLE = "Limits"
HOW = (
    "Each limit of a tenant, a member and a key: 50 inputs at once over two server processes, on PostgreSQL with Redis "
    "and on SQLite; then the moment that the refusal names is reached by moving what is counted back in time by just "
    "so much, which lets one more in, and a second less, which does not. Each limit of a run: a model that calls a "
    "tool or talks without end, then another run. Frames of a connection and of a member's together: twice what may "
    "come at once. Then a neighbour's turns, alone and beside a tenant that floods at its limits (messages, "
    "connections, bad frames, large bodies), in turn."
)
NO_CALLS, NO_FRAMES = "a run's tool calls are not counted", "frames are not counted"
FAULTS = (
    Fault("a limit is not asked", ABOVE, ask_no_limit),
    Fault("a count is not written", ABOVE, write_no_count),
    Fault("counts are read without a lock", ABOVE, count_without_locking),
    Fault("connections are not counted", ABOVE, count_no_connections),
    Fault("requests of keys are not counted", ABOVE, count_no_requests),
    Fault(NO_CALLS, ABOVE, count_no_calls),
    Fault(NO_FRAMES, ABOVE, count_no_frames),
    Fault("each message counts twice", BELOW, count_twice),
    Fault("refusals name no moment", UNTYPED, tell_no_time),
    Fault("refusals name a wrong moment", UNTRUE, tell_the_wrong_time),
    Fault("a tenant's flood is not limited", NEIGHBOUR, admit_floods),
)
PRICES = json.dumps({"m": {"input": 100, "output": 100}})


def measure(ground: Ground) -> Sequence[Line]:
    seen = Seen()
    ratio: tuple[float, int] | None = None
    if ground.fault is None or ground.fault.misses != NEIGHBOUR:
        for kind in (SQLITE, POSTGRES) if ground.fault is None else (POSTGRES,):
            _measure(ground, kind, seen)
    if ground.fault is None or ground.fault.misses == NEIGHBOUR:
        ratio = neighbour_of_a_flood(ground)
    lines = [seen.line(what) for what in seen.wrong]
    if ratio is not None:
        lines.append(Line(NEIGHBOUR, ratio[0], "times", 1.2, beside=f"of {ratio[1]} turns each"))
    return lines


def _measure(ground: Ground, kind: str, seen: Seen) -> None:
    """On one database: all kinds of limits, or the one in which the planted fault shows."""
    planted = ground.fault.what if ground.fault else None
    with FakeProvider() as provider, ground.site(kind, provider.url, MODEL_PRICES=PRICES) as site:
        provider.rule(answer)
        with ground.serve(site) as here, ground.serve(site) as there:
            servers = (here, there)
            if planted in {None, NO_CALLS}:
                asyncio.run(try_runs(site, servers, provider, seen))
            if planted in {None, NO_FRAMES}:
                asyncio.run(try_frames(site, servers, seen))
            if planted not in {NO_CALLS, NO_FRAMES}:
                asyncio.run(try_quotas(ground, site, servers, seen))
