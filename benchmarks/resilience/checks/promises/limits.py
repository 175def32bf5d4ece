"""Limits of tenants, members, keys, connections and runs, and the effect of a flood on a neighbouring tenant."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from statistics import median

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.figures import allowed_beside
from benchmarks.resilience.flooding import NEIGHBOUR, TURNS, admit_floods, neighbour_of_a_flood
from benchmarks.resilience.limits.faults import (
    check_no_limit,
    count_no_calls,
    count_no_connections,
    count_no_frames,
    count_no_requests,
    count_twice,
    count_without_locking,
    leave_out_retry_time,
    name_wrong_retry_time,
    store_no_count,
)
from benchmarks.resilience.limits.frames import try_frames
from benchmarks.resilience.limits.quotas import try_quotas
from benchmarks.resilience.limits.runs import answer, try_runs
from benchmarks.resilience.limits.seen import ABOVE, BELOW, UNTRUE, UNTYPED, Seen
from benchmarks.resilience.proxy import nginx
from benchmarks.resilience.sites import POSTGRES, SQLITE
from tests.fake_provider import FakeProvider

TITLE = "Limits"
HOW = (
    "Each limit of a tenant, a member and a key: 50 inputs at once over two server processes, on PostgreSQL with "
    "Redis and on SQLite. Then the counters are moved back in time to the moment that the refusal names, when one "
    "more input must be admitted, and to a second before it, when none may be. Each limit of a run: a model that "
    "calls a tool or talks without end, then another run. Frames of a connection and of all of a member's: twice the "
    "burst. Then a neighbour's turns, alone and beside a tenant that floods at its limits (messages, connections, bad "
    "frames, large bodies), in paired rounds, behind nginx with the shipped configuration. The figure is the median of "
    "the rounds, and its goal that of `crowding`: a fifth more, or 100 ms if that is more."
)
NO_CALLS, NO_FRAMES = "a run's tool calls are not counted", "frames are not counted"
FAULTS = (
    Fault("a limit is not checked", ABOVE, check_no_limit),
    Fault("a count is not written", ABOVE, store_no_count),
    Fault("counts are read without a lock", ABOVE, count_without_locking),
    Fault("connections are not counted", ABOVE, count_no_connections),
    Fault("requests of keys are not counted", ABOVE, count_no_requests),
    Fault(NO_CALLS, ABOVE, count_no_calls),
    Fault(NO_FRAMES, ABOVE, count_no_frames),
    Fault("each message counts twice", BELOW, count_twice),
    Fault("refusals have no retry time", UNTYPED, leave_out_retry_time),
    Fault("refusals have a wrong retry time", UNTRUE, name_wrong_retry_time),
    Fault("a tenant's flood is not limited", NEIGHBOUR, admit_floods),
)
PRICES = json.dumps({"m": {"input": 100, "output": 100}})


def measure(testbed: Testbed) -> Sequence[Line]:
    seen = Seen()
    rounds: list[tuple[float, float]] = []
    if testbed.fault is None or testbed.fault.misses != NEIGHBOUR:
        for kind in (SQLITE, POSTGRES) if testbed.fault is None else (POSTGRES,):
            _measure(testbed, kind, seen)
    if testbed.fault is None or testbed.fault.misses == NEIGHBOUR:
        rounds = neighbour_of_a_flood(testbed)
    lines = [seen.line(what) for what in seen.wrong]
    if rounds:
        usual, ratio = median(alone for alone, _ in rounds), median(beside / alone for alone, beside in rounds)
        where = "behind nginx" if nginx() else "without a proxy"
        note = f"{where}, {len(rounds)} rounds of {TURNS} turns: {usual:.0f} ms alone, {ratio:.2f} times as long beside"
        slower = median(beside - alone for alone, beside in rounds)
        lines.append(Line(NEIGHBOUR, slower, "ms", allowed_beside(usual), beside=note))
    return lines


def _measure(testbed: Testbed, kind: str, seen: Seen) -> None:
    """Try all kinds of limits on one database, or only the kind in which the planted fault shows."""
    planted = testbed.fault.what if testbed.fault else None
    with FakeProvider() as provider, testbed.site(kind, provider.url, ASSISTANT_MODEL_PRICES=PRICES) as site:
        provider.rule(answer)
        with testbed.serve(site) as here, testbed.serve(site) as there:
            servers = (here, there)
            if planted in {None, NO_CALLS}:
                asyncio.run(try_runs(site, servers, provider, seen))
            if planted in {None, NO_FRAMES}:
                asyncio.run(try_frames(site, servers, seen))
            if planted not in {NO_CALLS, NO_FRAMES}:
                asyncio.run(try_quotas(testbed, site, servers, seen))
