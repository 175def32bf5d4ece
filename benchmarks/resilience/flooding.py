"""What a tenant that floods costs its neighbour: their turns alone and beside the flood, in turn, on one server.

As a program it is the flood: `python -m benchmarks.resilience.flooding PORT`, from "go KEY" to "stop" on its input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

import httpx2

from benchmarks.processes import Process, started
from benchmarks.resilience.check import Ground
from benchmarks.resilience.client import Client, connected, run_input
from benchmarks.resilience.figures import p95
from benchmarks.resilience.limits.faults import ask_no_limit, count_no_connections, count_no_frames
from benchmarks.resilience.sites import POSTGRES, Server, Site
from tests.fake_provider import FakeProvider

NEIGHBOUR = "the neighbour's turns, p95, beside a flood over alone"
ROUNDS, TURNS = 10, 30
# Of each kind: they send again as soon as they are answered.
FLOODERS = 3
BIG_BODY = b'{"x": "' + b"x" * (4 * 2**20) + b'"}'
MAKE = "import django; django.setup(); from benchmarks.resilience.flooding import make; make()"


def make() -> None:
    """A tenant that floods, at the end of its messages, with a member and a key for each round.

    The benchmark's own tenant is the neighbour. Each round has a member of its own, whose
    bucket is full.
    """
    from django.contrib.auth import get_user_model

    from assistant.models import Assistant, Membership, Tenant, TenantLimits
    from assistant.services.tenancy.members import create_api_key

    tenant = Tenant.objects.create(slug="flood", name="Flood")
    Assistant.objects.create(tenant=tenant, slug="support", name="Support")
    TenantLimits.objects.create(tenant=tenant, member_messages_per_day=1, member_connections=20)
    keys = []
    for number in range(ROUNDS):
        user = get_user_model().objects.create(username=f"flooder{number}")
        Membership.objects.create(tenant=tenant, user=user)
        keys.append(create_api_key(tenant=tenant, user=user, name="flood")[1])
    print(json.dumps(keys), flush=True)


def admit_floods() -> None:
    """Limit neither frames and handshakes nor messages and connections."""
    for remove_limit in (count_no_frames, ask_no_limit, count_no_connections):
        remove_limit()


def neighbour_of_a_flood(ground: Ground) -> tuple[float, int]:
    """The 95th percentile of a neighbour's turns beside the flood, over that without it, and how many turns each."""
    with FakeProvider() as provider, ground.site(POSTGRES, provider.url) as site:
        with started([sys.executable, "-c", MAKE], site.env) as maker:
            keys = json.loads(maker.line())
        with ground.serve(site) as server:
            command = [sys.executable, "-m", "benchmarks.resilience.flooding", str(server.port)]
            with started(command, site.env) as flood:
                return asyncio.run(_rounds(site, server, flood, keys[: ground.many(ROUNDS, 3)]))


async def _rounds(site: Site, server: Server, flood: Process, keys: Sequence[str]) -> tuple[float, int]:
    """In short rounds, and all turns together: the machine's own moods come to both."""
    await _turns(site, server, 10)
    all_alone, all_beside = list[float](), list[float]()
    for key in keys:
        alone = await _turns(site, server, TURNS)
        flood.say(f"go {key}")
        await asyncio.sleep(2)
        beside = await _turns(site, server, TURNS)
        flood.say("stop")
        figures = f"alone {p95(alone) * 1000:.0f} ms, beside {p95(beside) * 1000:.0f} ms"
        print(f"  flood of {flood.line()}: {figures}", flush=True)
        all_alone += alone
        all_beside += beside
        await asyncio.sleep(2)
    return p95(all_beside) / p95(all_alone), len(all_alone)


async def _turns(site: Site, server: Server, count: int) -> list[float]:
    """Seconds of turns, one after the other."""
    seconds = []
    async with connected(server.port, site.keys[0]) as client:
        for _ in range(count):
            began = time.perf_counter()
            await client.ask("Hello")
            seconds.append(time.perf_counter() - began)
            await asyncio.sleep(0.05)
    return seconds


class Flood:
    """Everything that a program with a good key can send too much of."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key
        self.sent: dict[str, int] = {}

    async def pour(self) -> None:
        """Until it is cancelled."""
        kinds: Sequence[Callable[[], Awaitable[None]]] = (self._messages, self._frames, self._sockets, self._bodies)
        # One client, for making one reads all certificates of the machine.
        async with (
            httpx2.AsyncClient(timeout=60, trust_env=False) as self._http,
            asyncio.TaskGroup() as group,
        ):
            for kind in kinds:
                for _ in range(FLOODERS):
                    group.create_task(self._again(kind))

    async def _again(self, kind: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await kind()
            except Exception as exc:  # whatever it meets, it comes again; the report says what that was
                self._count(type(exc).__name__)
            await asyncio.sleep(0)

    def _count(self, what: str) -> None:
        self.sent[what] = self.sent.get(what, 0) + 1

    async def _messages(self) -> None:
        async with self._connected() as client:
            while True:
                await client.ask("More")
                self._count("messages")

    async def _frames(self) -> None:
        async with self._connected() as client:
            while True:
                await client.connection.send("no json")
                await client.next()
                self._count("bad frames")

    async def _sockets(self) -> None:
        async with self._connected():
            self._count("connections")

    async def _bodies(self) -> None:
        url = f"http://127.0.0.1:{self._port}/api/v1/tenants/flood/assistants/support/runs/"
        await self._http.post(url, json=run_input("More"), headers=self._headers)
        self._count("requests")
        await self._http.post(url, content=BIG_BODY, headers={**self._headers, "Content-Type": "application/json"})
        self._count("bodies")

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"}

    def _connected(self) -> contextlib.AbstractAsyncContextManager[Client]:
        return connected(self._port, self._key, tenant="flood")


async def main() -> None:
    """Flood from "go" to "stop", and tell how much was sent."""
    port = int(sys.argv[1])
    # Who floods does so on machines of their own: here whatever else wants a processor gets it first.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while line := await asyncio.to_thread(sys.stdin.readline):
        flood = Flood(port, line.split()[1])
        pouring = asyncio.create_task(flood.pour())
        await asyncio.to_thread(sys.stdin.readline)
        pouring.cancel()
        await asyncio.gather(pouring, return_exceptions=True)
        print(json.dumps(flood.sent), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
