"""A connection is dropped at every position of an answer, and the next connection catches up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import ENDINGS, Client, Frame, connected, run_input, run_of, seq_of
from benchmarks.resilience.figures import p95
from benchmarks.resilience.sites import POSTGRES, SQLITE, Server, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider, demo

TITLE = "Dropped connections"
HOW = (
    "Runs that call a tool and answer in 24 paced words. A client drops its connection after event 1, 2, 3 ... of its "
    "run, up to the last but one, connects again (on PostgreSQL and Redis to the other of two server processes), and "
    "attaches after the last event that it has. A second client reads the whole run. The events of the first, before "
    "and after the drop, are compared with those of the second, byte for byte. Half of the runs on SQLite with the "
    "log in memory, half on PostgreSQL and Redis."
)
RUNS = 200
AT_ONCE = 10
DIFFERENT, UNSEEN, RECOVERY = "answers that differ", "positions without a drop", "recovery, p95"
PROMPT = '[call add {"a": 1, "b": 2}]'


def skip_an_event() -> None:
    """Clients that catch up miss the first event."""
    from assistant.services.eventlog.log import Position
    from assistant.websocket.follower import Follower

    follow = Follower.follow

    async def careless(self: Follower, position: Position | None, **about: Any) -> None:
        late = Position(position.number, position.seq + 1) if position and position.seq else position
        await follow(self, late, **about)

    Follower.follow = careless  # type: ignore[method-assign]


def attach_late() -> None:
    """An attach takes three seconds."""
    from assistant.websocket.consumer import ThreadFrames

    attach = ThreadFrames.attach

    async def late(self: ThreadFrames, frame: Mapping[str, Any]) -> None:
        await asyncio.sleep(3)
        await attach(self, frame)

    ThreadFrames.attach = late  # type: ignore[method-assign]


EARLY = "all connections are dropped after the first event"
FAULTS = (
    Fault("clients that catch up miss an event", DIFFERENT, skip_an_event),
    Fault("an attach takes three seconds", RECOVERY, attach_late),
    Fault(EARLY, UNSEEN),
)


@dataclass(frozen=True, slots=True)
class Drop:
    """A run of `length` events: the event of the drop, whether all came, and the seconds to the next event."""

    position: int
    length: int
    is_same: bool
    seconds: float | None


def measure(testbed: Testbed) -> Sequence[Line]:
    return asyncio.run(_measure(testbed))


async def _measure(testbed: Testbed) -> Sequence[Line]:
    drops: list[Drop] = []
    with FakeProvider() as provider:
        provider.rule(_paced)
        for kind in (SQLITE, POSTGRES):
            with testbed.site(kind, provider.url) as site, testbed.serve(site) as here:
                if kind == SQLITE:
                    drops += await _drop_all(testbed, site, [here, here])
                else:
                    with testbed.serve(site) as there:
                        drops += await _drop_all(testbed, site, [here, there])
    positions = min(*(drop.length - 1 for drop in drops), len(drops) // 2)
    seen = {drop.position for drop in drops}
    seconds = [drop.seconds for drop in drops if drop.seconds is not None]
    return [
        Line(DIFFERENT, sum(not drop.is_same for drop in drops), "", 0, beside=f"of {len(drops)} runs"),
        Line(UNSEEN, len(set(range(1, positions + 1)) - seen), "", 0, beside=f"of {positions}"),
        Line(RECOVERY, p95(seconds), "s", 2, beside="from the drop to the next event of the run"),
    ]


def _paced(request: Recorded) -> Answer:
    if request.messages[-1]["role"] == "tool":
        return reply(chunks=[f"word{n} " for n in range(24)], delay=0.02)(request)
    return demo(request)


async def _drop_all(testbed: Testbed, site: Site, servers: Sequence[Server]) -> list[Drop]:
    turn, length = asyncio.Semaphore(AT_ONCE), await _length(site, servers[0])

    async def one(number: int) -> Drop:
        async with turn:
            return await _drop(site, servers, number, 1 if testbed.has_fault(EARLY) else number % (length - 1) + 1)

    return await asyncio.gather(*(one(number) for number in range(testbed.scaled(RUNS // 2))))


async def _length(site: Site, server: Server) -> int:
    """Return how many events a run has."""
    async with connected(server.port, site.keys[0]) as client:
        return seq_of(await client.ask(PROMPT))


async def _drop(site: Site, servers: Sequence[Server], number: int, position: int) -> Drop:
    key = site.keys[number % len(site.keys)]
    given = run_input(PROMPT)
    run = given["runId"]
    async with connected(servers[0].port, key) as watcher:
        await watcher.send(given)
        await watcher.next()
        watching = asyncio.create_task(watcher.until_end(run))
        async with connected(servers[0].port, key) as client:
            await client.attach(given["threadId"], after=(run, 0))
            await client.until(lambda frame: seq_of(frame) >= position or frame["type"] in ENDINGS)
            client.drop()
            dropped = time.monotonic()
        async with connected(servers[1].port, key) as again:
            await again.attach(given["threadId"], after=(run, seq_of(client.frames[-1])))
            first = None if client.frames[-1]["type"] == "RUN_FINISHED" else await again.next()
            seconds = time.monotonic() - dropped if first else None
            if first and first["type"] != "RUN_FINISHED":
                await again.until_end(run)
        await watching
    is_same = _of_run(client, run) + _of_run(again, run) == _of_run(watcher, run)
    return Drop(seq_of(client.frames[-1]), seq_of(watcher.frames[-1]), is_same, seconds)


def _of_run(client: Client, run: str) -> list[str]:
    frames: list[tuple[str, Frame]] = list(zip(client.texts, client.frames, strict=True))
    return [text for text, frame in frames if run_of(frame) == run]
