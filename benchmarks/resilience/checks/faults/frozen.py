"""One of two processes is stopped (SIGSTOP) and goes on later (SIGCONT)."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import Disconnected, Frame, connected, run_input
from benchmarks.resilience.sites import POSTGRES, Server, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider

TITLE = "A stopped process"
HOW = (
    "Runs in one of two processes on PostgreSQL and Redis; each writes text, and then calls a tool that pays. The "
    "process gets SIGSTOP in the middle of the text, while runs of another process go on, and SIGCONT: first after "
    "5 s, then in new runs only when the other process has ended them. The provider sends the rest, with the call, "
    "while the process is stopped, so that it finds it when it goes on."
)
LOST, LATE, PAID, CHANGED, NEIGHBOUR, UNUSABLE, UNTOLD = (
    "runs that failed, or that others took over, after a stop of 5 s",
    "runs of a stopped process that others have not ended within 30 s",
    "payments by runs that another process has ended",
    "rows that changed after another process has ended the run",
    "runs of the other process that failed meanwhile",
    "prompts not answered after the process went on",
    "stops that the log does not tell",
)
RUNS, WORDS, PACE, SHORT_SECONDS, LIMIT_SECONDS, AFTER_SECONDS = 20, 40, 0.1, 5.0, 30.0, 8.0
PAY = '[call pay {"cents": 5, "before": 0, "after": 0}]'


def run_calls_of_lost_runs() -> None:
    """Calls begin without a look at who has the run."""
    from assistant.services.toolcalls import run_journal

    run_journal.is_held = lambda key: True


def take_over_early() -> None:
    """A run is taken over when its lease has less than 7 s left."""
    from datetime import datetime, timedelta

    from assistant.services.db import clock
    from assistant.services.runs import leases

    read = leases.read_clock  # type: ignore[attr-defined]

    def ahead(query: Callable[[], datetime]) -> clock.Reading:
        reading = read(query)
        return replace(reading, database=reading.database + timedelta(seconds=7))

    leases.read_clock = ahead  # type: ignore[attr-defined]


def tell_of_no_stop() -> None:
    """A stop is taken for a task that held the loop."""
    from assistant.contrib.deploy import loop_watch

    loop_watch.STOPPED_SECONDS = 1e9


FAULTS = (
    Fault("runs are taken over early", LOST, take_over_early),
    Fault("calls of a run begin whoever has it", PAID, run_calls_of_lost_runs),
    Fault("a stop is taken for a task that held the loop", UNTOLD, tell_of_no_stop),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    ledger = testbed.folder / f"frozen-{testbed.services.number()}"
    ledger.touch()
    with (
        FakeProvider() as provider,
        testbed.site(POSTGRES, provider.url, RESILIENCE_LEDGER=str(ledger)) as site,
        testbed.serve(site) as victim,
        testbed.serve(site) as other,
    ):
        provider.rule(_paced)
        lines = asyncio.run(_freeze(testbed, site, victim, other, ledger))
        told = victim.log().count("This process did not run for")
        return [*lines, Line(UNTOLD, max(0, 2 - told), "", 0, beside="of 2")]


def _paced(request: Recorded) -> Answer:
    if request.messages[-1]["role"] == "tool":
        return reply("Done.")(request)
    if "[call" not in request.last_text:
        return reply(chunks=[f"word{n} " for n in range(WORDS)], delay=PACE)(request)
    words = [f"word{n} " for n in range(WORDS)]
    call = ("pay", {"cents": 5, "before": 0, "after": 0})
    return reply(chunks=words, delay=PACE, calls=[call])(request)


@contextmanager
def _stopped(server: Server) -> Iterator[None]:
    os.kill(server.process.popen.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.process.popen.pid, signal.SIGCONT)


async def _freeze(testbed: Testbed, site: Site, victim: Server, other: Server, ledger: Path) -> list[Line]:
    count = testbed.scaled(RUNS, 6)
    short = [asyncio.create_task(_ask(site, victim, n)) for n in range(count)]
    await asyncio.sleep(WORDS * PACE / 3)
    with _stopped(victim):
        await asyncio.sleep(SHORT_SECONDS)
    ends = await asyncio.gather(*short)
    lost = sum(end["type"] != "RUN_FINISHED" for end in ends)
    lost += site.resumed_runs()

    given = [run_input(PAY) for _ in range(count)]
    clients = [asyncio.create_task(_start(site, victim, n, one)) for n, one in enumerate(given)]
    await asyncio.sleep(WORDS * PACE / 3)
    with _stopped(victim):
        began = time.monotonic()
        neighbours = [asyncio.create_task(_ask(site, other, n)) for n in range(count)]
        taken = await asyncio.gather(*(_ended(site, other, n, one) for n, one in enumerate(given)))
        slowest = time.monotonic() - began
        failed = sum(end["type"] != "RUN_FINISHED" for end in await asyncio.gather(*neighbours))
        paid, rows = _payments(ledger), _rows(site, given)
    await asyncio.sleep(AFTER_SECONDS)
    again = await asyncio.gather(*(_ask(site, victim, n) for n in range(count)))
    changed = sum(before != after for before, after in zip(rows, _rows(site, given), strict=True))
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    return [
        Line(LOST, lost, "", 0, beside=f"of {count}"),
        Line(LATE, sum(not one for one in taken), "", 0, beside=f"of {count}; all had ended after {slowest:.1f} s"),
        Line(PAID, _payments(ledger) - paid - count, "", 0, beside=f"of {count}"),
        Line(CHANGED, changed, "", 0, beside=f"of {len(rows)} runs with messages and calls"),
        Line(NEIGHBOUR, failed, "", 0, beside=f"of {count}"),
        Line(UNUSABLE, sum(end["type"] != "RUN_FINISHED" for end in again), "", 0, beside=f"of {count}"),
    ]


async def _ask(site: Site, server: Server, number: int) -> Frame:
    async with connected(server.port, site.keys[number % len(site.keys)], ping_interval=None) as client:
        return await client.ask(PAY)


async def _start(site: Site, server: Server, number: int, given: Frame) -> None:
    """Start a run and read whatever comes."""
    async with connected(server.port, site.keys[number % len(site.keys)], ping_interval=None) as client:
        await client.send(given)
        try:
            await client.until_end(given["runId"])
        except (Disconnected, TimeoutError):
            return


async def _ended(site: Site, server: Server, number: int, given: Frame) -> bool:
    """Whether a client at the other process sees in time that the stopped run has gone on there to its end."""
    async with connected(server.port, site.keys[number % len(site.keys)]) as client:
        await client.attach(given["threadId"])
        try:
            return bool((await client.until_end(given["runId"], LIMIT_SECONDS))["type"] == "RUN_FINISHED")
        except TimeoutError:
            return False


def _payments(ledger: Path) -> int:
    return len(ledger.read_text().splitlines())


def _rows(site: Site, given: Sequence[Frame]) -> list[tuple[Any, ...]]:
    """Return what is stored of each run: its status, messages and calls."""
    found = []
    for one in given:
        thread = one["threadId"]
        found.append(
            (
                site.database.rows("SELECT status, error_code FROM assistant_run WHERE conversation_id = %s", thread),
                site.database.rows(
                    "SELECT role, content FROM assistant_message WHERE conversation_id = %s ORDER BY position", thread
                ),
                site.database.rows(
                    "SELECT call.status FROM assistant_toolcall call JOIN assistant_run run ON run.id = call.run_id "
                    "WHERE run.conversation_id = %s",
                    thread,
                ),
            )
        )
    return found
