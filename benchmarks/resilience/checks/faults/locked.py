"""Four processes write to one SQLite file."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import httpx2

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.checks.attacks.slow import lose_text
from benchmarks.resilience.reconnecting_client import ReconnectingClient, Turn
from benchmarks.resilience.sites import SQLITE, Server, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider

TITLE = "SQLite under load"
HOW = (
    "Four server processes on one SQLite file: 1,200 conversations are created over REST (one writing transaction "
    "each, 16 at a time) while 100 chats run at once. The logs are searched for a locked database, and for runs that "
    "had to wait for it; answers must be complete."
)
PROCESSES, WRITES, WRITERS, CHATS = 4, 1200, 16, 100
LOCKED, REFUSED, FAILED = "log lines about a locked database", "writes that failed", "chats without a complete answer"
ANSWER = "".join(f"word{n} " for n in range(20))
# A run waits for a locked database as for one that does not answer, and may log only that.
_LOCKED = re.compile(r"database (?:table )?is locked|The database is away")


def wait_for_no_lock() -> None:
    """A locked database is not waited for."""
    from django.db import connections

    options: dict[str, Any] = connections["default"].settings_dict["OPTIONS"]
    options["timeout"] = 0


FAULTS = (
    Fault("a locked database is not waited for", LOCKED, wait_for_no_lock),
    Fault("a locked database is not waited for", REFUSED, wait_for_no_lock),
    Fault("every hundredth piece of text is not sent", FAILED, lose_text),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    with FakeProvider() as provider, testbed.site(SQLITE, provider.url) as site, ExitStack() as stack:
        provider.rule(_answer)
        servers = [stack.enter_context(testbed.serve(site)) for _ in range(PROCESSES)]
        refused, turns = asyncio.run(_flood(testbed, site, servers))
        locked = sum(bool(_LOCKED.search(line)) for server in servers for line in server.log().splitlines())
        made = site.database.rows("SELECT count(*) FROM assistant_conversation")[0][0] - len(turns)
    writes = testbed.scaled(WRITES, 200)
    failed = sum(turn.shown != ANSWER or turn.end is None or turn.end["type"] != "RUN_FINISHED" for turn in turns)
    return [
        Line(LOCKED, locked, "", 0),
        Line(REFUSED, max(refused, writes - made), "", 0, beside=f"of {writes}"),
        Line(FAILED, failed, "", 0, beside=f"of {len(turns)}"),
    ]


def _answer(request: Recorded) -> Answer:
    return reply(chunks=[f"word{n} " for n in range(20)], delay=0.05)(request)


async def _flood(testbed: Testbed, site: Site, servers: Sequence[Server]) -> tuple[int, list[Turn]]:
    ports = [server.port for server in servers]
    clients = [ReconnectingClient(ports, site.keys[n % len(site.keys)], n) for n in range(testbed.scaled(CHATS, 20))]
    chatting = [asyncio.create_task(client.turn("Hello")) for client in clients]
    turn = asyncio.Semaphore(WRITERS)
    async with httpx2.AsyncClient(timeout=90) as http:

        async def write(number: int) -> bool:
            async with turn:
                answer = await http.post(
                    f"http://127.0.0.1:{ports[number % len(ports)]}/api/v1/tenants/bench/conversations/",
                    json={"assistant": "support", "title": f"Number {number}"},
                    headers={"Authorization": f"Bearer {site.keys[number % len(site.keys)]}"},
                )
                return answer.status_code == 201

        written = await asyncio.gather(*(write(number) for number in range(testbed.scaled(WRITES, 200))))
    return len(written) - sum(written), await asyncio.gather(*chatting)
