"""Hosts whose clock is wrong, and clocks that jump while runs are going."""

from __future__ import annotations

import asyncio
import json
import math
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import Frame, connected, run_input
from benchmarks.resilience.clock import FakeClock
from benchmarks.resilience.services import Services
from benchmarks.resilience.sites import POSTGRES, SQLITE, Server, Site
from benchmarks.targets import free_port
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider, demo

TITLE = "Clocks"
HOW = (
    "Two server processes on PostgreSQL and Redis, one on a host 20 s ahead, with runs in both. Then a clock jumps by "
    "an hour and by a day, forward and back, while runs are going and approvals wait: that of PostgreSQL, that of one "
    "of two processes on PostgreSQL, and that of a host with SQLite. Wall clocks are libfaketime's; monotonic time is "
    "real."
)
ENDED, LOST, EXPIRED, UNTOLD = (
    "runs that failed, or that others took over, beside a host 20 s ahead",
    "runs that failed, or that others took over, in jumps",
    "approvals lost in jumps",
    "ways in which a wrong clock is not told",
)
AHEAD, HOUR, DAY = 20.0, 3600.0, 86400.0
# The clock's difference after each jump: an hour forward and back, a day forward and back.
JUMPS = (HOUR, 0.0, DAY, 0.0)
RUNS, WORDS, PACE = 20, 80, 0.1
TOKEN = "of-the-check-of-clocks"
ASK = '[call pay_if_approved {"cents": 5, "before": 0, "after": 0}]'


def judge_by_the_host_s_clock() -> None:
    """Leases have expired when the host's clock says so."""
    from django.utils import timezone

    from assistant.services.db.clock import Reading
    from assistant.services.runs import leases

    read = leases.read_clock  # type: ignore[attr-defined]

    def by_host(query: Callable[[], datetime]) -> Reading:
        return replace(read(query), database=timezone.now())

    leases.read_clock = by_host  # type: ignore[attr-defined]


def notice_no_jump() -> None:
    """A jump of the database's clock is not noticed where runs are taken over."""
    from assistant.services.db.clock import ClockWatch

    ClockWatch.seconds_since_jump = lambda self: math.inf  # type: ignore[method-assign]


def age_with_jumps() -> None:
    """Approvals become as much older as the database's clock jumps."""
    from assistant.services.db.clock import ClockWatch

    ClockWatch.jumped_forward = lambda self, seconds: 0.0  # type: ignore[method-assign]


def tell_of_no_difference() -> None:
    """No difference of clocks is found."""
    from assistant.services.db.clock import Reading

    Reading.difference = 0.0  # type: ignore[assignment]


FAULTS = (
    Fault("leases are judged by the host's clock", ENDED, judge_by_the_host_s_clock),
    Fault("jumps are not noticed", LOST, notice_no_jump),
    Fault("approvals age with jumps", EXPIRED, age_with_jumps),
    Fault("the difference is not found", UNTOLD, tell_of_no_difference),
)


@dataclass
class Tally:
    """What was counted of jumps."""

    runs: int = 0
    lost: int = 0
    approvals: int = 0
    expired: int = 0


def measure(testbed: Testbed) -> Sequence[Line]:
    tally = Tally()
    # With a fault, only that is measured in which it shows.
    missed = testbed.fault.misses if testbed.fault else ""
    ended, runs, untold = 0, 0, list[str]()
    with FakeProvider() as provider:
        provider.rule(_paced)
        if missed in {"", ENDED, UNTOLD}:
            ended, runs, untold = _measure_ahead(testbed, provider.url)
        if missed in {"", LOST, EXPIRED}:
            _jump_in_postgres(testbed, provider.url, tally)
        if not missed:
            _jump_in_a_process(testbed, provider.url, tally)
            _jump_with_sqlite(testbed, provider.url, tally)
    return [
        Line(ENDED, ended, "", 0, beside=f"of {runs} in two processes"),
        Line(LOST, tally.lost, "", 0, beside=f"of {tally.runs}, in {len(JUMPS)} jumps of each of three clocks"),
        Line(EXPIRED, tally.expired, "", 0, beside=f"of {tally.approvals}, each answered after a jump"),
        Line(UNTOLD, len(untold), "", 0, beside=", ".join(untold) or "of log, `/readyz` and metrics"),
    ]


def _paced(request: Recorded) -> Answer:
    if "[call" in request.last_text and request.messages[-1]["role"] == "user":
        return demo(request)
    if request.messages[-1]["role"] == "tool":
        return reply("Done.")(request)
    return reply(chunks=[f"word{n} " for n in range(WORDS)], delay=PACE)(request)


def _measure_ahead(testbed: Testbed, provider_url: str) -> tuple[int, int, list[str]]:
    """Return how many runs did not finish of how many, and where the difference is not told."""
    clock = _clock(testbed, "ahead")
    clock.set(AHEAD)
    env = {"ASSISTANT_METRICS_TOKEN": TOKEN, "ASSISTANT_INTERNAL_HOSTS": "127.0.0.1"}
    with (
        _site(testbed, POSTGRES, provider_url, **env) as site,
        testbed.serve(site) as here,
        testbed.serve(site, port=free_port(), **clock.env) as there,
    ):
        servers = [here, there]
        ends = asyncio.run(_run_all(site, servers, testbed.scaled(RUNS, 4)))
        return sum(not _is_whole(end) for end in ends) + site.resumed_runs(), len(ends), _untold(there)


def _jump_in_postgres(testbed: Testbed, provider_url: str, tally: Tally) -> None:
    clock = _clock(testbed, "postgres")
    with Services(clock.env) as services:
        own = replace(testbed, services=services)
        with _site(own, POSTGRES, provider_url) as site, own.serve(site) as first, own.serve(site) as second:
            asyncio.run(_jump(testbed, site, [first, second], clock, tally))


def _jump_in_a_process(testbed: Testbed, provider_url: str, tally: Tally) -> None:
    clock = _clock(testbed, "process")
    with (
        _site(testbed, POSTGRES, provider_url) as site,
        testbed.serve(site) as first,
        testbed.serve(site, port=free_port(), **clock.env) as second,
    ):
        asyncio.run(_jump(testbed, site, [first, second], clock, tally))


def _jump_with_sqlite(testbed: Testbed, provider_url: str, tally: Tally) -> None:
    clock = _clock(testbed, "sqlite")
    with _site(testbed, SQLITE, provider_url) as site, testbed.serve(site, port=free_port(), **clock.env) as server:
        asyncio.run(_jump(testbed, site, [server], clock, tally))


@contextmanager
def _site(testbed: Testbed, kind: str, provider_url: str, **env: str) -> Iterator[Site]:
    ledger = str(testbed.folder / "ledger")
    with testbed.site(kind, provider_url, RESILIENCE_LEDGER=ledger, **env) as site:
        # They expire after a day, by the host's clock.
        site.database.run("UPDATE assistant_apikey SET expires_at = NULL")
        yield site


def _clock(testbed: Testbed, name: str) -> FakeClock:
    return FakeClock(testbed.folder / f"clock-{name}-{testbed.services.number()}")


async def _jump(testbed: Testbed, site: Site, servers: Sequence[Server], clock: FakeClock, tally: Tally) -> None:
    for seconds in JUMPS:
        async with _waiting(site, servers) as approvals:
            going = asyncio.create_task(_run_all(site, servers, testbed.scaled(RUNS, 2 * len(servers))))
            # In the middle of the runs, which go on for longer than two looks for dead ones.
            await asyncio.sleep(WORDS * PACE / 4)
            clock.set(seconds)
            ends = await going
            tally.runs, tally.lost = tally.runs + len(ends), tally.lost + sum(not _is_whole(end) for end in ends)
            for server, key, thread, call in approvals:
                tally.approvals += 1
                tally.expired += not await _is_answered(server, key, thread, call)
    tally.lost += site.resumed_runs()


async def _run_all(site: Site, servers: Sequence[Server], count: int) -> list[Frame]:
    """Return the ends of so many runs, in each server in turn."""

    async def one(number: int) -> Frame:
        async with connected(servers[number % len(servers)].port, site.keys[number % len(site.keys)]) as client:
            return await client.ask("Tell me")

    return await asyncio.gather(*(one(number) for number in range(count)))


def _is_whole(end: Frame) -> bool:
    return bool(end["type"] == "RUN_FINISHED")


@asynccontextmanager
async def _waiting(site: Site, servers: Sequence[Server]) -> AsyncIterator[list[tuple[Server, str, str, str]]]:
    """Let an approval wait in each server: its server, key, thread and call."""
    found = []
    for number, server in enumerate(servers):
        key, thread = site.keys[number], str(uuid.uuid4())
        async with connected(server.port, key) as client:
            end = await client.ask(ASK, thread=thread)
        found.append((server, key, thread, str(end["outcome"]["interrupts"][0]["id"])))
    yield found


async def _is_answered(server: Server, key: str, thread: str, call: str) -> bool:
    answer: dict[str, Any] = {"interruptId": call, "status": "resolved", "payload": {"approved": True}}
    given = run_input("", thread=thread, messages=[], resume=[answer])
    async with connected(server.port, key) as client:
        await client.send(given)
        return _is_whole(await client.until_end(given["runId"]))


def _untold(server: Server) -> list[str]:
    """Return which of the log, `/readyz` and the metrics do not tell that the server's clock is ahead."""
    with urlopen(f"{server.url}/readyz", timeout=60) as answer:
        clock = json.load(answer)["clock"]
    request = Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    with urlopen(request, timeout=60) as answer:
        metric = re.search(r"^assistant_clock_difference_seconds (\S+)$", answer.read().decode(), re.MULTILINE)
    told = {
        "log": "s from the database's" in server.log(),
        "/readyz": clock["status"] == "differs" and abs(clock["seconds_ahead_of_database"] - AHEAD) < 2,
        "metrics": metric is not None and abs(float(metric[1]) - AHEAD) < 2,
    }
    return [where for where, is_told in told.items() if not is_told]
