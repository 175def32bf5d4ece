"""Quotas of a tenant, a member and a key: used up by many at once, and free again at the retry time of a refusal."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from benchmarks.resilience.check import Testbed
from benchmarks.resilience.client import ENDINGS, Client, Frame, connected, run_input, run_of
from benchmarks.resilience.limits.frames import TOO_MANY, ping
from benchmarks.resilience.limits.runs import CALLS_ONCE
from benchmarks.resilience.limits.seen import ABOVE, BELOW, LIMIT, UNTRUE, UNTYPED, Seen, named
from benchmarks.resilience.sites import POSTGRES, Server, Site

AT_ONCE = 50
SOCKETS = 3
# Requests at once must not reach the end of their minute. After many refusals limits are read again once a second.
RACE_SECONDS, LOOK_SECONDS, REMEMBERED_SECONDS = 20, 2.5, 1.1
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True)
class Case:
    """One limit: its column, its value, and the window in which `LIMIT` inputs use it up."""

    name: str
    number: float
    window: str

    @property
    def is_held(self) -> bool:
        """Whether a run reserves more of it while it runs than it uses in the end."""
        return "tokens" in self.name or "cost" in self.name

    @property
    def is_of_key(self) -> bool:
        """Whether it is a limit of the member's API key, where each run counts as a request."""
        return self.name.startswith("key_")


# A run uses 100 tokens here, and costs 0.01.
CASES = tuple(
    Case(f"{scope}_{name}", number, window)
    for scope in ("tenant", "member")
    for name, number, window in (
        ("messages_per_minute", LIMIT, "minute"),
        ("messages_per_day", LIMIT, "day"),
        ("tokens_per_day", 100 * LIMIT, "day"),
        ("tokens_per_month", 100 * LIMIT, "month"),
        ("cost_per_day", LIMIT / 100, "day"),
        ("cost_per_month", LIMIT / 100, "month"),
        ("tool_calls_per_day", LIMIT, "day"),
        ("connections", LIMIT, ""),
    )
) + tuple(Case(f"key_requests_per_{window}", LIMIT, window) for window in ("minute", "day"))
# The cases that are tried with a planted fault.
SHOWING = ("tenant_messages_per_day", "member_connections", "key_requests_per_day")


async def try_quotas(testbed: Testbed, site: Site, servers: Sequence[Server], seen: Seen) -> None:
    """Try all cases, or with a planted fault those of `SHOWING`."""
    async with AsyncExitStack() as stack:
        # Two members, each with sockets at both processes.
        clients = [
            await stack.enter_async_context(connected(server.port, site.keys[member]))
            for _ in range(SOCKETS)
            for server in servers
            for member in range(2)
        ]
        cases = [case for case in CASES if testbed.fault is None or case.name in SHOWING]
        for case in (case for case in cases if case.window):
            own = clients if case.name.startswith("tenant") else clients[::2]
            await _lift(site, clients)
            await _race(testbed, site, own, case, seen)
    for case in (case for case in cases if not case.window):
        # Without Redis each process counts only its own connections: docs/production.md.
        await _connect_all(testbed, site, servers if site.kind == POSTGRES else servers[:1], case, seen)
    seen.limits += len(cases)


def _set(site: Site, **limits: float) -> None:
    """Set the limits by SQL, and delete the counts."""
    for table in ("tenantlimits", "quotause", "apikeyuse"):
        site.database.run(f"DELETE FROM assistant_{table}")
    of_keys = {case.name.removeprefix("key_"): limits.get(case.name) for case in CASES if case.is_of_key}
    setting = ", ".join(f"{column} = %s" for column in of_keys)
    site.database.run(f"UPDATE assistant_apikey SET {setting}", *of_keys.values())
    columns = [case.name for case in CASES if not case.is_of_key]
    values = [limits.get(column, 0) for column in columns]
    names, marks = ", ".join(("tenant_id", *columns)), ", ".join(["%s"] * (len(columns) + 1))
    tenant = site.database.rows("SELECT id FROM assistant_tenant WHERE slug = 'bench'")[0][0]
    site.database.run(f"INSERT INTO assistant_tenantlimits ({names}) VALUES ({marks})", tenant, *values)


async def _lift(site: Site, clients: Sequence[Client]) -> None:
    """Remove all limits, and wait until members that were just refused are admitted again."""
    _set(site)
    for client in clients[:4]:
        while (await client.ask("Hello"))["type"] != "RUN_FINISHED":
            await asyncio.sleep(0.3)
    # The use of those runs must not count.
    site.database.run("DELETE FROM assistant_usageentry")
    site.database.run("DELETE FROM assistant_toolcall")
    site.database.run("UPDATE assistant_run SET started_at = %s", datetime.now(UTC) - timedelta(days=40))


async def _race(testbed: Testbed, site: Site, clients: Sequence[Client], case: Case, seen: Seen) -> None:
    while 60 - time.time() % 60 < RACE_SECONDS:
        await asyncio.sleep(1)
    _set(site, **{case.name: case.number})
    text, count = CALLS_ONCE if "tool_calls" in case.name else "Hello", testbed.scaled(AT_ONCE, 20)
    ends = await _at_once(clients, text, count)
    seen.tries += count
    # A running run reserves more than it uses, so fewer are admitted at once. The rest go one after the other.
    if case.is_held:
        # Repeated refusals are answered from memory for a second.
        await asyncio.sleep(REMEMBERED_SECONDS)
        while len(ends) < count + 2 * LIMIT and _admitted(ends[-1:]) + _admitted(ends[:-1]) <= LIMIT:
            ends.append(await clients[0].ask(text))
            if not _admitted(ends[-1:]):
                break
            seen.tries += 1
    admitted, name = _admitted(ends), named(site, case.name)
    seen.wrong[ABOVE][name] += max(0, admitted - LIMIT)
    seen.wrong[BELOW][name] += max(0, LIMIT - admitted)
    refusals = [end for end in ends if end["type"] != "RUN_FINISHED"]
    seen.wrong[UNTYPED][name] += sum(end.get("code") != "quota_exceeded" or _moment(end) is None for end in refusals)
    seen.wrong[UNTRUE][name] += sum(_moment(end) not in {None, _end(case.window)} for end in refusals)
    await _try_again(site, clients[0], case, text, seen)


async def _at_once(clients: Sequence[Client], text: str, count: int) -> list[Frame]:
    async def several(client: Client, number: int) -> list[Frame]:
        given = [run_input(text) for _ in range(number)]
        for one in given:
            await client.send(one)
        waiting, ends = {one["runId"] for one in given}, []
        while waiting:
            frame = await client.until(lambda frame: frame["type"] in ENDINGS and run_of(frame) in waiting)
            waiting.discard(run_of(frame))
            ends.append(frame)
        return ends

    shares = [count // len(clients) + (number < count % len(clients)) for number in range(len(clients))]
    found = await asyncio.gather(*(several(*pair) for pair in zip(clients, shares, strict=True)))
    return [end for ends in found for end in ends]


async def _try_again(site: Site, client: Client, case: Case, text: str, seen: Seen) -> None:
    """Ask just before the retry time, which must be refused, and just after it, which must be admitted.

    The end of a minute is waited for; the start of longer windows is moved back.
    """
    if case.window == "minute":
        await asyncio.sleep(max(0.0, 58.5 - time.time() % 60))
        early = await client.ask(text)
        await asyncio.sleep(60.2 - time.time() % 60)
    else:
        early = await client.ask(text)
        began = _end(case.window) - timedelta(days=40)
        table = "apikeyuse" if case.is_of_key else "quotause"
        site.database.run(f"UPDATE assistant_{table} SET {case.window}_at = %s", began)
        await asyncio.sleep(LOOK_SECONDS)
    late = await client.ask(text)
    seen.wrong[ABOVE][named(site, case.name)] += _admitted([early])
    seen.wrong[UNTRUE][named(site, case.name)] += 1 - _admitted([late])


async def _connect_all(testbed: Testbed, site: Site, servers: Sequence[Server], case: Case, seen: Seen) -> None:
    """Open more connections at once than the limit, then close one, which makes room for another."""
    _set(site, **{case.name: case.number})
    members = 2 if case.name.startswith("tenant") else 1
    count = testbed.scaled(AT_ONCE, 20)
    seen.tries += count
    async with AsyncExitStack() as stack:

        async def connect(number: int) -> Client:
            port, key = servers[number % len(servers)].port, site.keys[number // 2 % members]
            return await stack.enter_async_context(connected(port, key))

        clients = await asyncio.gather(*(connect(number) for number in range(count)))
        answers = await _are_admitted(clients)
        admitted = [client for client, is_admitted in zip(clients, answers, strict=True) if is_admitted]
        away = [client for client in clients if client not in admitted]
        name = named(site, case.name)
        seen.wrong[ABOVE][name] += max(0, len(admitted) - LIMIT)
        seen.wrong[BELOW][name] += max(0, LIMIT - len(admitted))
        seen.wrong[UNTYPED][name] += sum(client.close_code != TOO_MANY for client in away)
        await admitted[0].connection.close()
        await asyncio.sleep(0.5)
        seen.wrong[BELOW][name] += not (await _are_admitted([await connect(0)]))[0]


async def _are_admitted(clients: Sequence[Client]) -> list[bool]:
    return [count == 1 for count, _ in await asyncio.gather(*(ping(client, 1) for client in clients))]


def _admitted(ends: Sequence[Frame]) -> int:
    return sum(end["type"] == "RUN_FINISHED" for end in ends)


def _moment(end: Frame) -> datetime | None:
    """Return the retry time of a refusal: a field of a run that was not opened, else in the message."""
    moment = end["metadata"].get("resetsAt") or next(iter(_MOMENT.findall(end["message"])), "")
    return datetime.fromisoformat(moment) if moment else None


def _end(window: str) -> datetime:
    """Return when the current minute, day or month ends."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    if window == "minute":
        return now + timedelta(minutes=1)
    day = now.replace(hour=0, minute=0)
    return day + timedelta(days=1) if window == "day" else (day.replace(day=28) + timedelta(days=4)).replace(day=1)
