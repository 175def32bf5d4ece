"""The process is killed before, at and after the effect of a tool."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.checks.faults.kills import forget_dead_runs
from benchmarks.resilience.client import ENDINGS, Frame, connected, run_input
from benchmarks.resilience.sites import POSTGRES, SQLITE, ForkServer, Server, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider, demo

TITLE = "Effects of tools"
HOW = (
    "A tool pays (a line in a file, with the call's idempotency key) 150 ms after it was called and returns 150 ms "
    "later. The process is killed before the payment, right after it, or within the next 300 ms. The client sends the "
    "same input again to another process; every second call needs an approval, which is sent again instead, and "
    "nothing may be paid before it. Half on SQLite, half on PostgreSQL and Redis."
)
CRASHES = 100
AT_ONCE = 25
# Longer than a run of a killed process takes to end, 30 s.
PATIENCE_SECONDS = 45.0
TWICE, UNKNOWN, UNAPPROVED, BUSY, MADE = (
    "effects beyond distinct idempotency keys",
    "effects without a row in the audit",
    "effects without the approval that they need",
    "threads that could not be used afterwards",
    "effects that happened",
)
AUDITED = "SELECT r.conversation_id, c.call_id FROM assistant_toolcall c JOIN assistant_run r ON r.id = c.run_id"
ARGUMENTS = '{"cents": 5, "before": 150, "after": 150}'
TOO_EARLY = "all processes are killed before the effect"


def pay_twice() -> None:
    """A payment is made twice."""
    from benchmarks.resilience.effects import tools

    write = tools.write_payment

    def twice(line: str) -> None:
        write(line)
        write(line)

    tools.write_payment = twice


def pay_under_another_key() -> None:
    """A tool uses a new key for each payment."""
    from benchmarks.resilience.effects import tools

    write = tools.write_payment

    def unknown(line: str) -> None:
        key, _, rest = line.partition(" ")
        write(f"{key}-{uuid.uuid4()} {rest}")

    tools.write_payment = unknown


def skip_approvals() -> None:
    """No call needs an approval."""
    from assistant.core.toolcalls import admission

    async def never(*_: Any) -> bool:
        return False

    admission.__dict__["_needs_approval"] = never


FAULTS = (
    Fault("a payment is made twice", TWICE, pay_twice),
    Fault("a tool uses a new key for each payment", UNKNOWN, pay_under_another_key),
    Fault("dead runs are not recovered", BUSY, forget_dead_runs),
    Fault("an approval is skipped", UNAPPROVED, skip_approvals),
    Fault(TOO_EARLY, MADE),
)


@dataclass(frozen=True, slots=True)
class Crash:
    """Whether the thread could be used after a crash, and whether the tool paid before its approval."""

    is_usable: bool
    is_unapproved: bool = False


def measure(testbed: Testbed) -> Sequence[Line]:
    keys: list[str] = []
    crashes: list[Crash] = []
    unknown = 0
    for kind in (SQLITE, POSTGRES):
        ledger = testbed.folder / f"ledger-{testbed.services.number()}"
        ledger.touch()
        with (
            FakeProvider() as provider,
            testbed.site(kind, provider.url, RESILIENCE_LEDGER=str(ledger)) as site,
            testbed.serve(site) as survivor,
            testbed.fork_server(site) as fork_server,
        ):
            provider.rule(_answer)
            crashes += asyncio.run(_crash_all(testbed, site, survivor, fork_server, ledger))
            here = _keys(ledger)
            calls = {f"{_uuid(str(thread))}:{call}" for thread, call in site.database.rows(AUDITED)}
            unknown += len(set(here) - calls)
            keys += here
    return [
        Line(TWICE, len(keys) - len(set(keys)), "", 0, beside=f"{len(keys)} effects in {len(crashes)} crashes"),
        Line(UNKNOWN, unknown, "", 0),
        Line(UNAPPROVED, sum(one.is_unapproved for one in crashes), "", 0, beside=f"of {len(crashes) // 2} to approve"),
        Line(BUSY, sum(not one.is_usable for one in crashes), "", 0),
        Line(MADE, len(keys), "", len(crashes) * 3 // 5, True),
    ]


def _keys(ledger: Path) -> list[str]:
    return [line.split()[0] for line in ledger.read_text().splitlines()]


def _uuid(text: str) -> str:
    """Return a conversation's id with dashes, which SQLite stores without."""
    plain = text.replace("-", "")
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))


def _answer(request: Recorded) -> Answer:
    return demo(request) if "[call" in request.last_text else reply("Done.")(request)


async def _crash_all(
    testbed: Testbed, site: Site, survivor: Server, fork_server: ForkServer, ledger: Path
) -> list[Crash]:
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> Crash:
        async with turn:
            part = 0 if testbed.has_fault(TOO_EARLY) else number % 6 // 2
            return await _crash(site, survivor, fork_server, number, ledger, part)

    return await asyncio.gather(*(one(number) for number in range(testbed.scaled(CRASHES // 2, 6))))


async def _crash(site: Site, survivor: Server, fork_server: ForkServer, number: int, ledger: Path, part: int) -> Crash:
    """Kill the process in that part of a call, send the same again, then another prompt."""
    key, chance = site.keys[number % len(site.keys)], random.Random(number)
    needs_approval = number % 2 == 1
    tool = "pay_if_approved" if needs_approval else "pay"
    given = run_input(f"[call {tool} {ARGUMENTS}]")
    victim = await fork_server.fork()
    async with connected(victim.port, key) as client:
        await client.send(given)
        if needs_approval:
            end = await client.until_end(given["runId"])
            if given["threadId"] in ledger.read_text():
                return Crash(is_usable=True, is_unapproved=True)
            given = _approval(given, end)
            await client.send(given)
        else:
            await client.until(lambda frame: frame["type"] == "TOOL_CALL_END")
        await _wait(part, chance, ledger, given["threadId"])
        victim.kill()
    return Crash(await _is_usable(survivor, key, given, is_twice=needs_approval))


async def _is_usable(survivor: Server, key: str, given: Frame, *, is_twice: bool) -> bool:
    """Send the same to another process, an approval also as another run, and then another prompt.

    A call that was cut, and may have had its effect, asks whether to run again; the answer is no.
    """
    async with connected(survivor.port, key) as client:
        try:
            await client.send(given)
            end = await client.until_end(given["runId"], PATIENCE_SECONDS)
            if is_twice:
                # It joins the run that the approval began.
                await client.send({**given, "runId": run_input("")["runId"]})
                await client.until(lambda frame: frame["type"] in ENDINGS, PATIENCE_SECONDS)
            if asked := end.get("outcome", {}).get("interrupts"):
                resume = [{"interruptId": one["id"], "status": "cancelled"} for one in asked]
                refusal = {**run_input("", thread=given["threadId"]), "messages": [], "resume": resume}
                await client.send(refusal)
                await client.until_end(refusal["runId"], PATIENCE_SECONDS)
        except TimeoutError:
            return False
        return bool((await client.ask("And now?", thread=given["threadId"]))["type"] == "RUN_FINISHED")


async def _wait(part: int, chance: random.Random, ledger: Path, thread: str) -> None:
    """Wait until just before the effect (part 0), right after it (1), or up to 0.3 s longer (2)."""
    if part == 0:
        await asyncio.sleep(chance.uniform(0, 0.1))
        return
    async with asyncio.timeout(60):
        while thread not in ledger.read_text():
            await asyncio.sleep(0.003)
    if part == 2:
        await asyncio.sleep(chance.uniform(0, 0.3))


def _approval(given: Frame, end: Frame) -> Frame:
    assert end["type"] == "RUN_FINISHED", end
    asked = end["outcome"]["interrupts"][0]["id"]
    resume = [{"interruptId": asked, "status": "resolved", "payload": {"approved": True}}]
    return {**run_input("", thread=given["threadId"]), "messages": [], "resume": resume}
