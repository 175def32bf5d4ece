"""Sixty sign-ins at once, which all hash passwords, and guesses at one name."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from typing import Any

import httpx2
from websockets.exceptions import WebSocketException

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import connected
from benchmarks.resilience.sites import POSTGRES, SQLITE, Server, Site
from tests.fake_provider import FakeProvider

TITLE = "Sign-ins at once"
SIGN_INS, ROUNDS, GUESSES, ADMITTED = 60, 3, 40, 5
PATIENCE_SECONDS, PAUSE_SECONDS = 2.0, 0.1
PAGE = "/accounts/login/"
# The superuser of `site.py`.
OPERATOR, PASSWORD = "operator", "bench-password"
HOW = (
    f"{SIGN_INS} sign-ins at once from as many addresses with as many names, {ROUNDS} times, each of which hashes a "
    f"password. Meanwhile `/readyz` is asked and a websocket opened, again and again. Then {GUESSES} guesses at "
    "one name from one address, after which its owner signs in from another. On SQLite, and on PostgreSQL with Redis."
)
READY = f"answers of /readyz that were not 200 within {PATIENCE_SECONDS:.0f} s"
HANDSHAKES = f"handshakes that were not accepted within {PATIENCE_SECONDS:.0f} s"
CHECKED, OWNER = "guesses at one name whose password was checked", "sign-ins of the owner that failed"
UNANSWERED = "sign-ins that were answered with neither a page nor a time"


def bound_no_views() -> None:
    """Every synchronous view has a thread at once."""
    from assistant.asgi import view_slots

    view_slots._places_for = lambda scope: None


def limit_nothing() -> None:
    """Passwords may be guessed."""
    from django.conf import settings

    settings.ASSISTANT_SIGN_IN_LIMITS = False


def count_by_name_alone() -> None:
    """All addresses count as one, so that an attacker keeps the owner out."""
    from assistant.services.signin import limits

    limits.network_of = lambda address: "192.0.2.1"


FAULTS = (
    Fault("synchronous views are not bounded", READY, bound_no_views),
    Fault("sign-ins are not limited", CHECKED, limit_nothing),
    Fault("addresses are not told apart", OWNER, count_by_name_alone),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    lines = [_measure(testbed, kind) for kind in ((SQLITE, POSTGRES) if testbed.fault is None else (POSTGRES,))]
    return [line for of_kind in lines for line in of_kind]


def _measure(testbed: Testbed, kind: str) -> Sequence[Line]:
    with FakeProvider() as provider, testbed.site(kind, provider.url) as site, testbed.serve(site) as server:
        return asyncio.run(_all(testbed, kind, site, server))


async def _all(testbed: Testbed, kind: str, site: Site, server: Server) -> Sequence[Line]:
    # The server closes a connection that was idle for 5 s, perhaps in the moment in which it is used again.
    limits = httpx2.Limits(max_connections=SIGN_INS + GUESSES, keepalive_expiry=1)
    async with httpx2.AsyncClient(base_url=server.url, timeout=120, limits=limits) as client:
        token = await _token(client)
        await _watched(client, site, server, asyncio.create_task(asyncio.sleep(0.5)))
        statuses, late, unopened, longest = [], [0, 0], [0, 0], 0.0
        for number in range(testbed.scaled(ROUNDS)):
            names = [(f"name-{number}-{each}", f"203.0.{113 + number}.{each}") for each in range(SIGN_INS)]
            crowd = asyncio.gather(*(_sign_in(client, token, name, "wrong", address) for name, address in names))
            ready, opened, slowest = await _watched(client, site, server, crowd)
            statuses += await crowd
            late = [late[0] + ready[0], late[1] + ready[1]]
            unopened = [unopened[0] + opened[0], unopened[1] + opened[1]]
            longest = max(longest, slowest)
        guesses = await asyncio.gather(
            *(_sign_in(client, token, OPERATOR, f"guess-{each}", "198.51.100.9") for each in range(GUESSES))
        )
        owner = await _sign_in(client, token, OPERATOR, PASSWORD, "192.0.2.7")
    where = f", {kind}" if testbed.fault is None else ""
    checked = sum(status == 200 for status in guesses)
    answered = [*statuses, *guesses]
    return [
        Line(f"{READY}{where}", late[0], "", 0, beside=f"of {late[1]}; the slowest took {longest:.2f} s"),
        Line(f"{HANDSHAKES}{where}", unopened[0], "", 0, beside=f"of {unopened[1]}"),
        Line(f"{CHECKED}{where}", checked, "", ADMITTED, beside=f"of {GUESSES}"),
        Line(f"{OWNER}{where}", float(owner != 302), "", 0, beside="of 1"),
        Line(f"{UNANSWERED}{where}", sum(status not in (200, 429, 503) for status in answered), "", 0),
    ]


async def _token(client: httpx2.AsyncClient) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', (await client.get(PAGE)).text)
    assert found is not None
    return found[1]


async def _sign_in(client: httpx2.AsyncClient, token: str, name: str, password: str, address: str) -> int:
    """Return the status of the answer; 0 for one that should have a time and has none."""
    form = {"csrfmiddlewaretoken": token, "username": name, "password": password}
    answer = await client.post(PAGE, data=form, headers={"X-Forwarded-For": address})
    is_without_time = answer.status_code in (429, 503) and "Retry-After" not in answer.headers
    return 0 if is_without_time else answer.status_code


async def _watched(
    client: httpx2.AsyncClient, site: Site, server: Server, work: asyncio.Future[Any]
) -> tuple[tuple[int, int], tuple[int, int], float]:
    """Ask and connect until `work` is done.

    Returns:
        The late answers of `/readyz`, and all; the handshakes that failed, and all; the seconds of the slowest of both.
    """
    late = asked = unopened = 0
    slowest = 0.0
    while not work.done():
        began = time.monotonic()
        is_ready = (await client.get("/readyz")).status_code == 200
        between = time.monotonic()
        is_open = await _opens(server, site)
        ended = time.monotonic()
        late += not is_ready or between - began > PATIENCE_SECONDS
        unopened += not is_open or ended - between > PATIENCE_SECONDS
        asked += 1
        slowest = max(slowest, between - began, ended - between)
        await asyncio.sleep(PAUSE_SECONDS)
    return (late, asked), (unopened, asked), slowest


async def _opens(server: Server, site: Site) -> bool:
    try:
        async with connected(server.port, site.keys[0]):
            return True
    except (OSError, TimeoutError, WebSocketException):
        return False
