"""A provider that sends a byte a second for ever, and one that asks for 300 calls in one reply."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import Frame, connected, run_input
from benchmarks.resilience.figures import is_valid, p95
from benchmarks.resilience.sites import POSTGRES, SQLITE, Site
from tests.fake_answers import Answer, Recorded, Step, raw, reply, respond
from tests.fake_provider import FakeProvider

TITLE = "Trickles and 300 calls"
HOW = (
    "Runs with a limit of 8 s whose provider sends a byte a second for ever: of an event, of a comment, of white "
    "space, and of an error. Runs whose provider asks for 300 payments in one reply: each of another amount, all the "
    "same, and all with one id. A member of another key chats meanwhile. On both databases."
)
UNENDED, UNTYPED, BEYOND, UNANSWERED, INVALID, UNTOLD, NEIGHBOUR, SLOWEST = (
    "trickled runs without their end within 8 + 3 s",
    "trickled runs that did not end with a code",
    "payments above the limit of calls of one tool",
    "calls without exactly one result",
    "invalid requests to the provider",
    "runs with 300 calls that did not end with `limit_reached`",
    "turns of the other member that failed",
    "95th percentile of the other member's turns",
)
SECONDS, MORE_SECONDS, PER_TOOL, CALLS, RUNS = 8, 3.0, 40, 300, 8
TRICKLE: list[Step] = [step for _ in range(600) for step in (1.0, b"x")]
KINDS = ("event", "comment", "space", "error")
SHAPES = ("distinct", "equal", "one id")


def wait_for_each_byte_alone() -> None:
    """A run has no limit of its own: each byte has its time."""
    from assistant.core.values.deadline import Deadline

    begin = Deadline.__init__
    Deadline.__init__ = lambda self, seconds, *, spent=0.0: begin(self, 0)  # type: ignore[method-assign]


def count_no_calls() -> None:
    """Calls are not counted."""
    from assistant.core.toolcalls.admission import CallLimiter

    CallLimiter.admit = lambda self, call, tool: None  # type: ignore[method-assign]


FAULTS = (
    Fault("a run has no limit of its own", UNENDED, wait_for_each_byte_alone),
    Fault("calls are not counted", BEYOND, count_no_calls),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    counts, slowest, asked = Counter[str](), list[float](), 0
    for kind in (SQLITE, POSTGRES):
        ledger = testbed.folder / f"overlong-{testbed.services.number()}"
        ledger.touch()
        with FakeProvider() as provider, testbed.site(kind, provider.url, RESILIENCE_LEDGER=str(ledger)) as site:
            site.database.run("UPDATE assistant_assistant SET max_seconds = %s", SECONDS)
            provider.rule(_answer)
            with testbed.serve(site) as server:
                found, times = asyncio.run(_try_all(testbed, site, server.port, ledger))
            counts += found
            slowest += times
            asked += len(provider.requests)
            counts[INVALID] += sum(not is_valid(request.messages) for request in provider.requests)
    trickled = 2 * testbed.scaled(RUNS, 1) * len(KINDS)
    return [
        Line(UNENDED, counts[UNENDED], "", 0, beside=f"of {trickled}"),
        Line(UNTYPED, counts[UNTYPED], "", 0),
        Line(BEYOND, counts[BEYOND], "", 0, beside=f"{counts['paid']} paid by {2 * len(SHAPES)} runs"),
        Line(UNANSWERED, counts[UNANSWERED], "", 0),
        Line(INVALID, counts[INVALID], "", 0, beside=f"of {asked} requests"),
        Line(UNTOLD, counts[UNTOLD], "", 0, beside=f"of {2 * len(SHAPES)}"),
        Line(NEIGHBOUR, counts[NEIGHBOUR], "", 0, beside=f"of {len(slowest)}"),
        Line(SLOWEST, p95(slowest), "s", 2, beside=f"the longest {max(slowest):.2f} s"),
    ]


def _answer(request: Recorded) -> Answer:
    words = request.last_text.split()
    if words[:1] == ["trickle"]:
        return _trickle(words[1])
    if words[:1] == ["calls"] and request.messages[-1]["role"] == "user":
        shape = " ".join(words[1:])
        calls = [("pay", {"cents": 5 if shape == "equal" else n, "before": 0, "after": 0}) for n in range(CALLS)]
        return reply(calls=calls, ids=["one"] * CALLS if shape == "one id" else ())(request)
    return reply("ok")(request)


def _trickle(kind: str) -> Answer:
    if kind == "error":
        answer = respond(500, {})
        return Answer(TRICKLE, status=answer.status)
    begun = {"event": b'data: {"choices": [{"delta": {"content": "', "comment": b": ", "space": b""}[kind]
    steps = [step if isinstance(step, float) else b" " for step in TRICKLE] if kind == "space" else TRICKLE
    return raw(begun, *steps)


async def _try_all(testbed: Testbed, site: Site, port: int, ledger: Path) -> tuple[Counter[str], list[float]]:
    counts, times = Counter[str](), list[float]()
    over = asyncio.Event()
    talking = asyncio.create_task(_talk(site, port, over, counts, times))
    tricks = [kind for kind in KINDS for _ in range(testbed.scaled(RUNS, 1))]
    await asyncio.gather(*(_trickled(site, port, n, kind, counts) for n, kind in enumerate(tricks)))
    for number, shape in enumerate(SHAPES):
        paid = _payments(ledger)
        await _called(site, port, number, shape, counts)
        counts["paid"] += _payments(ledger) - paid
        counts[BEYOND] += max(0, _payments(ledger) - paid - PER_TOOL)
    over.set()
    await talking
    return counts, times


async def _talk(site: Site, port: int, over: asyncio.Event, counts: Counter[str], times: list[float]) -> None:
    async with connected(port, site.keys[-1]) as client:
        while not over.is_set():
            began = time.monotonic()
            counts[NEIGHBOUR] += (await client.ask("Hello"))["type"] != "RUN_FINISHED"
            times.append(time.monotonic() - began)
            await asyncio.sleep(0.2)


async def _trickled(site: Site, port: int, number: int, kind: str, counts: Counter[str]) -> None:
    async with connected(port, site.keys[number % (len(site.keys) - 1)]) as client:
        try:
            end: Frame = await client.ask(f"trickle {kind}", SECONDS + MORE_SECONDS)
        except TimeoutError:
            counts[UNENDED] += 1
            return
        counts[UNTYPED] += end["type"] != "RUN_ERROR" or end.get("code") not in {"limit_reached", "provider_timeout"}


async def _called(site: Site, port: int, number: int, shape: str, counts: Counter[str]) -> None:
    async with connected(port, site.keys[number]) as client:
        given = run_input(f"calls {shape}")
        await client.send(given)
        end = await client.until_end(given["runId"])
        started = Counter(frame["toolCallId"] for frame in client.frames if frame["type"] == "TOOL_CALL_START")
        results = Counter(frame["toolCallId"] for frame in client.frames if frame["type"] == "TOOL_CALL_RESULT")
        counts[UNANSWERED] += sum(results[call] != 1 or started[call] != 1 for call in started | results)
        counts[UNTOLD] += end.get("code") != "limit_reached"
        counts[NEIGHBOUR] += (await client.ask("And now?", thread=given["threadId"]))["type"] != "RUN_FINISHED"


def _payments(ledger: Path) -> int:
    return len(ledger.read_text().splitlines())
