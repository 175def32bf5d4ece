"""PostgreSQL has no free connection, during many chats."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing

import psycopg

from benchmarks.report import Line
from benchmarks.resilience.asking import is_stored, is_whole, readiness
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import run_input
from benchmarks.resilience.reconnecting_client import ReconnectingClient, Turn
from benchmarks.resilience.sites import POSTGRES, Server, Site
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider

TITLE = "PostgreSQL at its connection limit"
HOW = (
    "Chats of 8 s on two server processes. After 2 s all connections of the processes are closed, and another program "
    "takes every one that PostgreSQL has, for 6 s. Meanwhile new prompts come in."
)
NOT_WHOLE, NOT_STORED, UNTYPED, UNTOLD, RECOVERY = (
    "answers shown that are not complete",
    "answers not stored once and completely",
    "prompts refused without a code or a retry time",
    "processes that do not tell it in the log or `/readyz`",
    "slowest answer to begin after connections are free",
)
CHATS, FRESH, WORDS, PACE = 40, 8, 80, 0.1
AFTER_SECONDS, TAKING_SECONDS, FULL_SECONDS, RECOVERY_SECONDS = 2.0, 2.0, 6.0, 8.0
WHOLE = "".join(f"word{n} " for n in range(WORDS))


def give_up_at_once() -> None:
    """A write of a run to the database is tried once."""
    from assistant.services.db import threads

    threads.MAX_RETRY_SECONDS = -1.0


def refuse_as_an_error() -> None:
    """A database without free connections is an internal error."""
    from assistant.services.errors import Failure

    Failure.is_outage = property(lambda self: False)  # type: ignore[assignment,method-assign]


def name_no_reason() -> None:
    """The reason of an outage of the database is not looked for."""
    from assistant.services import errors

    errors._AT_LIMIT = ()  # type: ignore[assignment]


FAULTS = (
    Fault("a write of a run to the database is tried once", NOT_WHOLE, give_up_at_once),
    Fault("no free connection is an internal error", UNTYPED, refuse_as_an_error),
    Fault("the reason is not looked for", UNTOLD, name_no_reason),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    with FakeProvider() as provider, testbed.site(POSTGRES, provider.url) as site:
        provider.rule(reply(chunks=[f"word{n} " for n in range(WORDS)], delay=PACE))
        with testbed.serve(site) as here, testbed.serve(site) as there:
            turns, untold, recovery = asyncio.run(_chat_through(testbed, site, [here, there]))
    refusals = [refusal for turn in turns for refusal in turn.refusals]
    untyped = sum(not refusal.get("code") or "resetsAt" not in refusal.get("metadata", {}) for refusal in refusals)
    whole = [is_whole(turn, WHOLE) for turn in turns]
    return [
        Line(NOT_WHOLE, whole.count(False), "", 0, beside=f"of {len(turns)}"),
        Line(NOT_STORED, sum(not is_stored(site, turn, WHOLE) for turn in turns), "", 0),
        Line(UNTYPED, untyped, "", 0, beside=f"of {len(refusals)}"),
        Line(UNTOLD, len(untold), "", 0, beside=", ".join(untold) or "of 2"),
        Line(RECOVERY, recovery, "s", RECOVERY_SECONDS),
    ]


async def _chat_through(testbed: Testbed, site: Site, servers: Sequence[Server]) -> tuple[list[Turn], list[str], float]:
    """Return all turns, which servers do not tell the reason, and the seconds until the last new answer began."""
    ports, untold = [server.port for server in servers], list[str]()

    def client(number: int) -> ReconnectingClient:
        return ReconnectingClient([ports[number % 2]], site.keys[number % len(site.keys)], 0)

    turns = [Turn(run_input("Tell me")) for _ in range(testbed.scaled(CHATS, 6))]
    fresh = [Turn(run_input("Meanwhile")) for _ in range(testbed.scaled(FRESH, 4))]
    full = asyncio.Event()
    async with asyncio.TaskGroup() as going:
        asking = [going.create_task(client(number).finish(turn, when=full)) for number, turn in enumerate(fresh)]
        for number, turn in enumerate(turns):
            going.create_task(client(number).finish(turn))
        await asyncio.sleep(AFTER_SECONDS)
        with ExitStack() as held:
            await asyncio.to_thread(_take_all, testbed, site, held)
            full.set()
            told = [await asyncio.to_thread(readiness, server, "database") for server in servers]
            await asyncio.sleep(FULL_SECONDS)
        free_at = time.monotonic()
        while not all(turn.seq or task.done() for turn, task in zip(fresh, asking, strict=True)):
            await asyncio.sleep(0.05)
        recovery = time.monotonic() - free_at
    for server, said in zip(servers, told, strict=True):
        if said != "no free connections" or "no free connection" not in server.log():
            untold.append(f"/readyz: {said}")
    return [*turns, *fresh], untold, recovery


def _take_all(testbed: Testbed, site: Site, held: ExitStack) -> None:
    """Close the connections of the site's servers, and take every one that there is, until the servers have none."""
    url = testbed.services.postgres.url()
    keeper = held.enter_context(closing(psycopg.connect(url, autocommit=True)))
    name = site.database.url.rsplit("/", 1)[1]
    start, closed = time.monotonic(), 1
    # The servers connect again meanwhile, and sooner than this program on a busy machine.
    while closed or time.monotonic() < start + TAKING_SECONDS:
        with contextlib.suppress(psycopg.OperationalError):
            while True:
                held.enter_context(closing(psycopg.connect(url, autocommit=True)))
        closed = keeper.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        ).rowcount
        if time.monotonic() > start + 10 * TAKING_SECONDS:
            raise TimeoutError("the servers found a connection again and again")
