"""One end user who opens runs without end, and the first tokens of the users of another tenant."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from statistics import median
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.processes import Process, started
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import (
    ENDINGS,
    PATIENCE_SECONDS,
    Client,
    Disconnected,
    Frame,
    connected,
    run_input,
    run_of,
)
from benchmarks.resilience.figures import allowed_beside, p95
from benchmarks.resilience.sites import POSTGRES, SQLITE, Site
from benchmarks.targets import free_port

TITLE = "A crowd of runs by one end user"
HOW = (
    "An end user's token opens 600 runs at once on 20 connections, and 90 more a second (1,100 in six seconds), whose "
    "answers have 400 tokens, 50 a second. A member of another tenant sends message after message: the time to the "
    "first token, alone and beside the crowd, in paired rounds, with the limits that a deployment has by itself. "
    "The figure is the median of the rounds' differences; the bound is 100 ms or a fifth of the time alone, whichever "
    "is more. On SQLite, and on PostgreSQL with Redis."
)
SLOWER = "the neighbour's first token, p95, beside the crowd over alone"
UNTYPED = "runs of the crowd that were neither answered nor refused with a code and a time"
CONNECTIONS, ROUNDS, TURNS = 20, 5, 30
# A member's connections may send 600 frames at once, and 100 a second, together.
FRAMES_AT_ONCE, FRAMES_A_SECOND = 600, 90
PACE_SECONDS, PAUSE_SECONDS = 0.2, 10
ANSWERED, REFUSED, WAITED = "answered", "refused with a time", "queued to the end of the wait"
CLOSED = "connections closed"
TYPED = frozenset({ANSWERED, REFUSED, WAITED, CLOSED})
ORIGIN = "https://shop.example.com"
ANSWER = "[tokens=400 rate=50]"
MAKE = "import django; django.setup(); from benchmarks.resilience.checks.attacks.crowding import make; make()"


def make() -> None:
    """Create the tenant with the end user, and print a token as JSON. The benchmark's own tenant is the neighbour."""
    from django.contrib.auth import get_user_model

    from assistant.contrib.end_users.services.tokens import allow_origin, mint_token, save_end_user
    from assistant.models import Assistant, Membership, Tenant
    from assistant.services.tenancy.members import create_api_key

    tenant = Tenant.objects.create(slug="crowd", name="Crowd")
    assistant = Assistant.objects.create(tenant=tenant, slug="support", name="Support")
    user = get_user_model().objects.create(username="shop")
    Membership.objects.create(tenant=tenant, user=user)
    key, _ = create_api_key(tenant=tenant, user=user, name="shop", scopes=["end_users"])
    allow_origin(assistant=assistant, origin=ORIGIN)
    end_user = save_end_user(tenant_id=tenant.pk, external_id="c-1", name="", context={})
    token, _ = mint_token(end_user=end_user, assistant=assistant, key_id=key.pk, seconds=3600)
    print(json.dumps(token), flush=True)


def lift_every_limit() -> None:
    """Nothing is limited, as before there were limits of runs at once."""
    from django.conf import settings

    settings.ASSISTANT_TENANT_LIMITS = {}
    settings.ASSISTANT_MEMBER_LIMITS = {}
    settings.ASSISTANT_END_USER_LIMITS = {}
    settings.ASSISTANT_MAX_RUNS = 0


def refuse_without_a_time() -> None:
    """A refusal does not say when to try again."""
    from assistant.services.eventlog import frames

    frames.format_timestamp = lambda moment: ""  # type: ignore[attr-defined]


FAULTS = (
    Fault("runs have no limits", SLOWER, lift_every_limit),
    Fault("refusals have no time", UNTYPED, refuse_without_a_time),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    lines = [_measure(testbed, kind) for kind in ((SQLITE, POSTGRES) if testbed.fault is None else (SQLITE,))]
    return [line for of_kind in lines for line in of_kind]


def _measure(testbed: Testbed, kind: str) -> Sequence[Line]:
    provider_port = free_port()
    command = [sys.executable, "-m", "benchmarks.provider", "--port", str(provider_port)]
    with started(command) as provider, testbed.site(kind, provider.read_line()) as site:
        with started([sys.executable, "-c", MAKE], site.env) as maker:
            token = json.loads(maker.read_line())
        with testbed.serve(site) as server:
            crowd_command = [
                sys.executable,
                "-m",
                "benchmarks.resilience.checks.attacks.crowding",
                str(server.port),
                token,
            ]
            with started(crowd_command, site.env) as crowd:
                return asyncio.run(_rounds(testbed, kind, site, server.port, crowd))


async def _rounds(testbed: Testbed, kind: str, site: Site, port: int, crowd: Process) -> Sequence[Line]:
    """Pair the neighbour's turns alone with those beside the crowd, so that other work on the machine hits both."""
    turns = testbed.scaled(TURNS, 5)
    await _first_tokens(site, port, 5)
    over, allowed, details, outcomes = [], [], [], Counter[str]()
    for _ in range(testbed.scaled(ROUNDS)):
        alone = p95(await _first_tokens(site, port, turns)) * 1000
        crowd.write_line("go")
        beside = p95(await _first_tokens(site, port, turns)) * 1000
        crowd.write_line("stop")
        outcomes.update(json.loads(await asyncio.to_thread(crowd.read_line)))
        over.append(beside - alone)
        allowed.append(allowed_beside(alone))
        details.append(f"{alone:.0f} alone, {beside:.0f} beside")
        print(f"  {kind}: {details[-1]}; the crowd: {dict(outcomes)}", flush=True)
        await asyncio.sleep(testbed.scaled(PAUSE_SECONDS))
    seen = ", ".join(f"{count} {what}" for what, count in sorted(outcomes.items()))
    untyped = sum(count for what, count in outcomes.items() if what not in TYPED)
    where = f", {kind}" if testbed.fault is None else ""
    return [
        Line(f"{SLOWER}{where}", median(over), "ms", median(allowed), beside="; ".join(details)),
        Line(f"{UNTYPED}{where}", untyped, "", 0, beside=seen),
    ]


async def _first_tokens(site: Site, port: int, count: int) -> list[float]:
    """Return the seconds to the first token of each of `count` messages, one after the other."""
    seconds = []
    async with connected(port, site.keys[0]) as client:
        for _ in range(count):
            given = run_input("Hello")
            began = time.perf_counter()
            await client.send(given)
            await client.until(lambda frame: frame["type"] in ("TEXT_MESSAGE_CONTENT", *ENDINGS))
            seconds.append(time.perf_counter() - began)
            await client.until_end(given["runId"])
            await asyncio.sleep(PACE_SECONDS)
    return seconds


@asynccontextmanager
async def _connected(port: int, options: Mapping[str, Any]) -> AsyncIterator[Client]:
    address = f"ws://127.0.0.1:{port}/ws/crowd/support/"
    async with connect(address, proxy=None, open_timeout=PATIENCE_SECONDS, close_timeout=2, **options) as connection:
        yield Client(connection)


class Crowd:
    """One end user's connections, each of which opens its share of the runs again and again."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._options = {"subprotocols": ["agui.v1", f"bearer.{token}"], "origin": ORIGIN}
        self.outcomes: Counter[str] = Counter()

    async def press(self) -> None:
        """Open runs until cancelled."""
        await asyncio.gather(*(self._again() for _ in range(CONNECTIONS)))

    async def _again(self) -> None:
        while True:
            try:
                async with _connected(self._port, self._options) as client:
                    await self._open_all(client)
            except* (Disconnected, OSError, WebSocketException):
                self.outcomes[CLOSED] += 1
            await asyncio.sleep(1)

    async def _open_all(self, client: Client) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send(client))
            group.create_task(self._read(client))

    async def _send(self, client: Client) -> None:
        for _ in range(FRAMES_AT_ONCE // CONNECTIONS):
            await client.send(run_input(ANSWER))
        while True:
            await asyncio.sleep(CONNECTIONS / FRAMES_A_SECOND)
            await client.send(run_input(ANSWER))

    async def _read(self, client: Client) -> None:
        queued: set[str] = set()
        while True:
            frame = await client.next()
            if frame["type"] == "CUSTOM" and frame["name"] == "run.queued":
                queued.add(run_of(frame))
            if frame["type"] in ENDINGS:
                self.outcomes[_outcome(frame, was_queued=run_of(frame) in queued)] += 1
            client.frames.clear()
            client.texts.clear()


def _outcome(frame: Frame, *, was_queued: bool) -> str:
    if frame["type"] == "RUN_FINISHED":
        return ANSWERED
    has_time = bool(frame["metadata"].get("resetsAt"))
    if frame.get("code") in ("limit_reached", "quota_exceeded") and has_time:
        return REFUSED
    return (
        WAITED if frame.get("code") == "limit_reached" and was_queued else f"ended with {frame.get('code')} and no time"
    )


async def main() -> None:
    """Press from each line "go" to the line "stop", and print what became of the runs as JSON."""
    # A real crowd is on other machines: here it gets only the processor time that nothing else wants.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while await asyncio.to_thread(sys.stdin.readline):
        crowd = Crowd(int(sys.argv[1]), sys.argv[2])
        pressing = asyncio.create_task(crowd.press())
        await asyncio.to_thread(sys.stdin.readline)
        pressing.cancel()
        await asyncio.gather(pressing, return_exceptions=True)
        print(json.dumps(crowd.outcomes), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
