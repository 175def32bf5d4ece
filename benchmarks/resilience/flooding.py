"""A neighbour's turns alone and beside a tenant that floods the same server, in paired rounds.

The server runs behind nginx with the shipped configuration if nginx is installed. Its limits are by client address, so
that the flood connects from an address of its own.

Run as a program it is the flood: `python -m benchmarks.resilience.flooding PORT` floods from the line "go KEY" to the
line "stop" on its standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import httpx2

from benchmarks.processes import Process, started
from benchmarks.resilience.check import Testbed
from benchmarks.resilience.client import Client, connected, run_input
from benchmarks.resilience.figures import p95
from benchmarks.resilience.limits.faults import check_no_limit, count_no_connections, count_no_frames
from benchmarks.resilience.proxy import nginx, proxied
from benchmarks.resilience.sites import POSTGRES, Site
from tests.fake_provider import FakeProvider

NEIGHBOUR = "how much slower the neighbour's turns are beside a flood than alone, p95, median of the rounds"
ROUNDS, LEAST_ROUNDS, TURNS = 10, 3, 30
# Clients of each kind; they send again as soon as they get an answer.
FLOODERS = 16
FLOOD_ADDRESS = "127.0.0.2"
BIG_BODY = b'{"x": "' + b"x" * (4 * 2**20) + b'"}'
MAKE = "import django; django.setup(); from benchmarks.resilience.flooding import make; make()"


def make() -> None:
    """Create the tenant that floods, with a member and a key for each round; print the keys as JSON.

    The tenant has used up its messages. The benchmark's own tenant is the neighbour. Each round has another
    member, whose bucket is full.
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
    for remove_limit in (count_no_frames, check_no_limit, count_no_connections):
        remove_limit()


def neighbour_of_a_flood(testbed: Testbed) -> list[tuple[float, float]]:
    """Return the neighbour's 95th percentiles alone and beside the flood, in milliseconds, of each round."""
    with FakeProvider() as provider, testbed.site(POSTGRES, provider.url) as site:
        with started([sys.executable, "-c", MAKE], site.env) as maker:
            keys = json.loads(maker.read_line())
        with testbed.serve(site) as server, _in_front(server.port, testbed.folder) as port:
            command = [sys.executable, "-m", "benchmarks.resilience.flooding", str(port)]
            with started(command, site.env) as flood:
                return asyncio.run(_rounds(site, port, flood, keys[: testbed.scaled(ROUNDS, LEAST_ROUNDS)]))


def _in_front(server_port: int, folder: Path) -> contextlib.AbstractContextManager[int]:
    """Run the proxy in front of a server, if there is one; the port is that to connect to."""
    program = nginx()
    return contextlib.nullcontext(server_port) if program is None else proxied(program, server_port, folder)


async def _rounds(site: Site, port: int, flood: Process, keys: Sequence[str]) -> list[tuple[float, float]]:
    """Pair the turns alone with those beside the flood in short rounds, so that other work on the machine hits both."""
    await _turns(site, port, 10)
    rounds = []
    for key in keys:
        alone = p95(await _turns(site, port, TURNS)) * 1000
        flood.write_line(f"go {key}")
        await asyncio.sleep(2)
        beside = p95(await _turns(site, port, TURNS)) * 1000
        flood.write_line("stop")
        print(f"  flood of {flood.read_line()}: alone {alone:.0f} ms, beside {beside:.0f} ms", flush=True)
        rounds.append((alone, beside))
        await asyncio.sleep(2)
    return rounds


async def _turns(site: Site, port: int, count: int) -> list[float]:
    """Return the seconds of each of `count` turns, one after the other."""
    seconds = []
    async with connected(port, site.keys[0]) as client:
        for _ in range(count):
            began = time.perf_counter()
            await client.ask("Hello")
            seconds.append(time.perf_counter() - began)
            await asyncio.sleep(0.05)
    return seconds


class Flood:
    """Clients with a valid key that send as much of everything as they can."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key
        self.sent: dict[str, int] = {}

    async def pour(self) -> None:
        """Flood until cancelled."""
        kinds: Sequence[Callable[[], Awaitable[None]]] = (self._messages, self._frames, self._sockets, self._bodies)
        # One client for all: creating one reads all certificates of the machine.
        transport = httpx2.AsyncHTTPTransport(local_address=FLOOD_ADDRESS)
        async with (
            httpx2.AsyncClient(timeout=60, trust_env=False, transport=transport) as self._http,
            asyncio.TaskGroup() as group,
        ):
            for kind in kinds:
                for _ in range(FLOODERS):
                    group.create_task(self._again(kind))

    async def _again(self, kind: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await kind()
            except Exception as exc:  # refusals of any kind are counted, and the client goes on
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
        return connected(self._port, self._key, tenant="flood", local_addr=(FLOOD_ADDRESS, 0))


async def main() -> None:
    """Flood from "go" to "stop", and print how much was sent as JSON."""
    port = int(sys.argv[1])
    # A real flood runs on other machines: here it gets only the processor time that nothing else wants.
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
