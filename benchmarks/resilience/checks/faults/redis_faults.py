"""Redis loses its data, is full, or refuses writes, during many chats."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import redis

from benchmarks.report import Line
from benchmarks.resilience.asking import is_stored, is_whole, readiness
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.checks.faults.restarts import GAVE_UP
from benchmarks.resilience.client import connected, run_input, text_of
from benchmarks.resilience.reconnecting_client import ReconnectingClient, Turn
from benchmarks.resilience.sites import POSTGRES, Server, Site
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider

TITLE = "Redis emptied, full and read-only"
HOW = (
    "Chats of 8 s on two server processes, each followed by a second client from the other process. After 2 s Redis "
    "gets FLUSHALL; then, in new chats, it has no memory left (`maxmemory`, `noeviction`) for 5 s; then it is a "
    "replica for 5 s, which refuses writes. Meanwhile new prompts come in. A client that was attached to a finished "
    "thread in the other process before FLUSHALL must see the thread's next answer."
)
NOT_WHOLE, NOT_STORED, NOT_SEEN, LOGLESS, DEAF, UNTYPED, SLOW, UNTOLD, SILENCE = (
    "answers shown that are not complete",
    "answers not stored once and completely",
    "answers followed from the other process that are not complete",
    "runs that went on without their log",
    "clients that were attached before FLUSHALL and missed the next answer",
    "prompts refused without a code or a retry time",
    "slowest refusal",
    "ways in which a fault of Redis is not told",
    "longest time of a client without an event, beyond the fault",
)
CHATS, IDLE, WORDS, PACE = 40, 8, 80, 0.1
AFTER_SECONDS, FAULT_SECONDS, REFUSAL_SECONDS, DEAF_SECONDS = 2.0, 5.0, 5.0, 15.0
WHOLE = "".join(f"word{n} " for n in range(WORDS))


def take_refusals_for_fencing() -> None:
    """Events that Redis refuses to store count as events that another process has written."""
    from assistant.contrib.redis import log
    from assistant.contrib.redis.scripts import APPEND

    log.APPEND = APPEND.replace("if refuses(answer.err) then return answer end", "")  # type: ignore[attr-defined]


def notice_no_loss() -> None:
    """A process does not notice that Redis has lost its data."""
    from assistant.contrib.redis.watch import RedisWatch

    RedisWatch._on_loss = property(lambda self: lambda: None, lambda self, value: None)  # type: ignore[assignment]


def refuse_without_a_time() -> None:
    """A Redis that refuses writes is an internal error."""
    from assistant.services.errors import Failure

    Failure.is_outage = property(lambda self: False)  # type: ignore[assignment,method-assign]


def only_ping() -> None:
    """Readiness looks only at whether Redis answers."""
    from assistant.services import readiness

    readiness.check_with("redis", lambda: "ok")


FAULTS = (
    Fault("refused events count as written by another process", LOGLESS, take_refusals_for_fencing),
    Fault("the loss of Redis's data is not noticed", DEAF, notice_no_loss),
    Fault("a refusal of Redis is an internal error", UNTYPED, refuse_without_a_time),
    Fault("readiness looks only at whether Redis answers", UNTOLD, only_ping),
)


@dataclass
class Seen:
    """What was seen in all three faults."""

    turns: list[Turn] = field(default_factory=list)
    fresh: list[Turn] = field(default_factory=list)
    watched: list[Turn] = field(default_factory=list)
    not_stored: int = 0
    logless: int = 0
    idle: int = 0
    deaf: int = 0
    not_seen: int = 0
    untold: list[str] = field(default_factory=list)
    refusal_seconds: float = 0.0
    silence: float = 0.0


@dataclass(frozen=True)
class RedisFault:
    """A fault: how it begins and ends, what `/readyz` says of it (empty: nothing), and what the log says."""

    name: str
    begin: Callable[[redis.Redis], object]
    end: Callable[[redis.Redis], object]
    told: str
    logged: str


CASES = (
    RedisFault("emptied", lambda one: one.flushall(), lambda one: None, "", "Redis has lost its data"),
    RedisFault(
        "full",
        lambda one: one.config_set("maxmemory", 1),
        lambda one: one.config_set("maxmemory", 0),
        "full",
        "Redis is full",
    ),
    RedisFault(
        "read-only",
        lambda one: one.replicaof("127.0.0.1", "9"),
        lambda one: one.replicaof("NO", "ONE"),
        "read-only",
        "Redis is read-only",
    ),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    seen = Seen()
    for case in CASES:
        with FakeProvider() as provider, testbed.site(POSTGRES, provider.url) as site:
            provider.rule(reply(chunks=[f"word{n} " for n in range(WORDS)], delay=PACE))
            with testbed.serve(site) as here, testbed.serve(site) as there:
                asyncio.run(_chat_through(testbed, site, [here, there], case, seen))
    asked = [*seen.turns, *seen.fresh]
    refusals = [refusal for turn in asked for refusal in turn.refusals]
    untyped = sum(not refusal.get("code") or "resetsAt" not in refusal.get("metadata", {}) for refusal in refusals)
    return [
        Line(NOT_WHOLE, sum(not is_whole(turn, WHOLE) for turn in asked), "", 0, beside=f"of {len(asked)}"),
        Line(NOT_STORED, seen.not_stored, "", 0),
        Line(
            NOT_SEEN, sum(not is_whole(turn, WHOLE) for turn in seen.watched), "", 0, beside=f"of {len(seen.watched)}"
        ),
        Line(LOGLESS, seen.logless, "", 0),
        Line(DEAF, seen.deaf, "", 0, beside=f"of {seen.idle}"),
        Line(UNTYPED, untyped, "", 0, beside=f"of {len(refusals)}"),
        Line(SLOW, seen.refusal_seconds, "s", REFUSAL_SECONDS),
        Line(UNTOLD, len(seen.untold), "", 0, beside=", ".join(seen.untold) or "of log and `/readyz`"),
        Line(SILENCE, seen.silence, "s", 8),
    ]


async def _chat_through(testbed: Testbed, site: Site, servers: Sequence[Server], case: RedisFault, seen: Seen) -> None:
    ports = [server.port for server in servers]
    idle = [(number, str(uuid.uuid4())) for number in range(testbed.scaled(IDLE, 2) if not case.told else 0)]
    for number, thread in idle:
        async with connected(ports[0], site.keys[number]) as client:
            await client.ask("Before", thread=thread)
    turns, watched = [], []
    async with asyncio.TaskGroup() as going:
        for number in range(testbed.scaled(CHATS, 6)):
            key, turn = site.keys[number % len(site.keys)], Turn(run_input("Tell me"))
            turns.append(turn)
            going.create_task(ReconnectingClient([ports[number % 2]], key, 0).finish(turn))
            watched.append(going.create_task(_watch(ports[(number + 1) % 2], key, turn)))
        deaf = [going.create_task(_follow_idle(site, ports, number, thread)) for number, thread in idle]
        await asyncio.sleep(AFTER_SECONDS)
        with redis.Redis.from_url(site.env["REDIS_URL"]) as client:
            await asyncio.to_thread(case.begin, client)
            began = time.monotonic()
            fresh = [going.create_task(_ask_meanwhile(site, ports[n % 2], n, seen)) for n in range(4)]
            await asyncio.sleep(FAULT_SECONDS if case.told else 0)
            told = await asyncio.to_thread(readiness, servers[0], "redis")
            await asyncio.to_thread(case.end, client)
            length = time.monotonic() - began
    seen.turns += turns
    seen.watched += [task.result() for task in watched]
    seen.not_seen += sum(not is_whole(task.result(), WHOLE) for task in watched)
    seen.fresh += [task.result() for task in fresh]
    seen.idle, seen.deaf = seen.idle + len(deaf), seen.deaf + sum(task.result() for task in deaf)
    seen.silence = max(seen.silence, *(turn.silence - length for turn in turns))
    seen.not_stored += sum(not is_stored(site, turn, WHOLE) for turn in (*turns, *(task.result() for task in fresh)))
    seen.logless += sum(server.log().count(GAVE_UP) for server in servers)
    if case.told and told != case.told:
        seen.untold.append(f"/readyz: {told}, not {case.told}")
    if not any(case.logged in server.log() for server in servers):
        seen.untold.append(f"log: {case.name}")


async def _watch(port: int, key: str, turn: Turn) -> Turn:
    await asyncio.sleep(AFTER_SECONDS / 2)
    return await ReconnectingClient([port], key, 0).finish(Turn(turn.given, is_watched=True))


async def _follow_idle(site: Site, ports: Sequence[int], number: int, thread: str) -> bool:
    """Return whether a client that attached before the fault misses the thread's next answer, from elsewhere."""
    key = site.keys[number]
    async with connected(ports[1], key) as follower, connected(ports[0], key) as client:
        await follower.attach(thread)
        await asyncio.sleep(AFTER_SECONDS + 0.5)
        before = len(follower.frames)
        given = run_input("And then?", thread=thread)
        await client.send(given)
        try:
            await follower.until_end(given["runId"], WORDS * PACE + DEAF_SECONDS)
        except TimeoutError:
            return True
        return not WHOLE.endswith(text_of(follower.frames[before:]).strip()[-20:] + " ")


async def _ask_meanwhile(site: Site, port: int, number: int, seen: Seen) -> Turn:
    """Send a prompt during the fault until it is accepted, and note how long the first refusal took."""
    key, began = site.keys[number], time.monotonic()
    turn = Turn(run_input("Meanwhile"))
    finishing = asyncio.create_task(ReconnectingClient([port], key, 0).finish(turn))
    while not finishing.done() and not turn.refusals and not turn.seq:
        await asyncio.sleep(0.05)
    if turn.refusals:
        seen.refusal_seconds = max(seen.refusal_seconds, time.monotonic() - began)
    return await finishing
