"""Quotas of a tenant, a member and a key: raced for, and free again at the moment that a refusal names."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from benchmarks.resilience.check import Ground
from benchmarks.resilience.client import ENDINGS, Client, Frame, connected, run_input, run_of
from benchmarks.resilience.limits.frames import TOO_MANY, ping
from benchmarks.resilience.limits.runs import CALLS_ONCE
from benchmarks.resilience.limits.seen import ABOVE, BELOW, LIMIT, UNTRUE, UNTYPED, Seen, named
from benchmarks.resilience.sites import POSTGRES, Server, Site

AT_ONCE = 50
SOCKETS = 3
# A race must not meet the end of its minute; and who was refused much is looked at again once a second.
RACE_SECONDS, LOOK_SECONDS, REMEMBERED_SECONDS = 20, 2.5, 1.1
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True)
class Case:
    """One limit: its column, its number, and the window in which `LIMIT` inputs use it up."""

    name: str
    number: float
    window: str

    @property
    def is_held(self) -> bool:
        """Whether a running run holds more of it than it takes in the end."""
        return "tokens" in self.name or "cost" in self.name

    @property
    def is_of_key(self) -> bool:
        """Whether it is a limit of the member's API key, of which each run that is asked for is a request."""
        return self.name.startswith("key_")


# A run takes 100 tokens here, and 0.01 of money.
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
# In which a planted fault shows.
SHOWING = ("tenant_messages_per_day", "member_connections", "key_requests_per_day")


async def try_quotas(ground: Ground, site: Site, servers: Sequence[Server], seen: Seen) -> None:
    """All of them, or those in which a planted fault shows."""
    async with AsyncExitStack() as stack:
        # Two members, each with sockets at both processes.
        clients = [
            await stack.enter_async_context(connected(server.port, site.keys[member]))
            for _ in range(SOCKETS)
            for server in servers
            for member in range(2)
        ]
        cases = [case for case in CASES if ground.fault is None or case.name in SHOWING]
        for case in (case for case in cases if case.window):
            own = clients if case.name.startswith("tenant") else clients[::2]
            await _lift(site, clients)
            await _race(ground, site, own, case, seen)
    for case in (case for case in cases if not case.window):
        # Without Redis a process knows its own connections alone: docs/production.md.
        await _sit_down(ground, site, servers if site.kind == POSTGRES else servers[:1], case, seen)
    seen.limits += len(cases)


def _set(site: Site, **limits: float) -> None:
    """Set the limits past the product's code, and forget what was counted, as the admin does."""
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
    """Without limits everybody is let in again, also who has just asked on and on."""
    _set(site)
    for client in clients[:4]:
        while (await client.ask("Hello"))["type"] != "RUN_FINISHED":
            await asyncio.sleep(0.3)
    # What those took must not count.
    site.database.run("DELETE FROM assistant_usageentry")
    site.database.run("DELETE FROM assistant_toolcall")
    site.database.run("UPDATE assistant_run SET started_at = %s", datetime.now(UTC) - timedelta(days=40))


async def _race(ground: Ground, site: Site, clients: Sequence[Client], case: Case, seen: Seen) -> None:
    while 60 - time.time() % 60 < RACE_SECONDS:
        await asyncio.sleep(1)
    _set(site, **{case.name: case.number})
    text, count = CALLS_ONCE if "tool_calls" in case.name else "Hello", ground.many(AT_ONCE, 20)
    ends = await _at_once(clients, text, count)
    seen.tries += count
    # A run holds more than it takes while it runs, so fewer are let in at once: the rest go one after the other.
    if case.is_held:
        # Who asked on and on is answered from memory for a second: then the database is asked (`services/refusals.py`).
        await asyncio.sleep(REMEMBERED_SECONDS)
        while len(ends) < count + 2 * LIMIT and _let_in(ends[-1:]) + _let_in(ends[:-1]) <= LIMIT:
            ends.append(await clients[0].ask(text))
            if not _let_in(ends[-1:]):
                break
            seen.tries += 1
    let_in, name = _let_in(ends), named(site, case.name)
    seen.wrong[ABOVE][name] += max(0, let_in - LIMIT)
    seen.wrong[BELOW][name] += max(0, LIMIT - let_in)
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
    """Just before the moment that was named nobody is let in, and then somebody is: a minute is waited for, of longer
    windows the beginning is moved back by one."""
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
    seen.wrong[ABOVE][named(site, case.name)] += _let_in([early])
    seen.wrong[UNTRUE][named(site, case.name)] += 1 - _let_in([late])


async def _sit_down(ground: Ground, site: Site, servers: Sequence[Server], case: Case, seen: Seen) -> None:
    """Open so many connections at once; whoever leaves makes room for one."""
    _set(site, **{case.name: case.number})
    members = 2 if case.name.startswith("tenant") else 1
    count = ground.many(AT_ONCE, 20)
    seen.tries += count
    async with AsyncExitStack() as stack:

        async def sit(number: int) -> Client:
            port, key = servers[number % len(servers)].port, site.keys[number // 2 % members]
            return await stack.enter_async_context(connected(port, key))

        clients = await asyncio.gather(*(sit(number) for number in range(count)))
        seated = [client for client, is_in in zip(clients, await _are_in(clients), strict=True) if is_in]
        away = [client for client in clients if client not in seated]
        name = named(site, case.name)
        seen.wrong[ABOVE][name] += max(0, len(seated) - LIMIT)
        seen.wrong[BELOW][name] += max(0, LIMIT - len(seated))
        seen.wrong[UNTYPED][name] += sum(client.close_code != TOO_MANY for client in away)
        await seated[0].connection.close()
        await asyncio.sleep(0.5)
        seen.wrong[BELOW][name] += not (await _are_in([await sit(0)]))[0]


async def _are_in(clients: Sequence[Client]) -> list[bool]:
    return [count == 1 for count, _ in await asyncio.gather(*(ping(client, 1) for client in clients))]


def _let_in(ends: Sequence[Frame]) -> int:
    return sum(end["type"] == "RUN_FINISHED" for end in ends)


def _moment(end: Frame) -> datetime | None:
    """When it is free again: beside a run that was not opened, else in the sentence."""
    moment = end["metadata"].get("resetsAt") or next(iter(_MOMENT.findall(end["message"])), "")
    return datetime.fromisoformat(moment) if moment else None


def _end(window: str) -> datetime:
    """When the window that we are in ends, as the calendar has it."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    if window == "minute":
        return now + timedelta(minutes=1)
    day = now.replace(hour=0, minute=0)
    return day + timedelta(days=1) if window == "day" else (day.replace(day=28) + timedelta(days=4)).replace(day=1)
