"""Two server processes are restarted one after the other while people chat."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.report import Line
from benchmarks.resilience.chatting import Chatter, Turn
from benchmarks.resilience.check import Fault, Ground
from benchmarks.resilience.sites import POSTGRES, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider

TITLE = "Rolling restart"
HOW = (
    "100 chats on two server processes (PostgreSQL, Redis), each with answers of 5 s one after the other. One is "
    "asked to end (SIGTERM), and started again on its port once it has; then the other."
)
CHATS = 100
NOT_WHOLE, REPEATED, UNTOLD, MOVED, DRAIN = (
    "answers lost, or not whole",
    "events or messages repeated",
    "connections that ended without being told (1012)",
    "connections moved in mid-answer",
    "slowest end of a process",
)
WORDS, PACE = 100, 0.05
ANSWER = "".join(f"word{n} " for n in range(WORDS))
SERVICE_RESTART = 1012


def drain_nothing() -> None:
    """A process that is asked to end waits for none of its runs."""
    from assistant.services import runs

    runs.DRAIN_SECONDS = 0.0


FAULTS = (Fault("a process that is asked to end waits for no run", NOT_WHOLE, drain_nothing),)


def measure(ground: Ground) -> Sequence[Line]:
    with FakeProvider() as provider, ground.site(POSTGRES, provider.url) as site:
        provider.rule(_answer)
        turns, drains = asyncio.run(_roll(ground, site))
        counts = site.database.rows("SELECT role, count(*) FROM assistant_message GROUP BY role")
        asked = len(provider.requests)
    doubled = sum(abs(count - len(turns)) for _, count in counts) + abs(asked - len(turns))
    codes = [code for turn in turns for code in turn.close_codes]
    not_whole = sum(turn.shown != ANSWER or turn.end is None or turn.end["type"] != "RUN_FINISHED" for turn in turns)
    told = sum(code == SERVICE_RESTART for code in codes)
    return [
        Line(NOT_WHOLE, not_whole, "", 0, beside=f"of {len(turns)} answers"),
        Line(REPEATED, doubled + sum(turn.repeated for turn in turns), "", 0, beside="in clients, rows and requests"),
        Line(UNTOLD, len(codes) - told, "", 0),
        Line(MOVED, len(codes), "", 1, True),
        Line(DRAIN, max(drains), "s", 30),
    ]


def _answer(request: Recorded) -> Answer:
    return reply(chunks=[f"word{n} " for n in range(WORDS)], delay=PACE)(request)


async def _roll(ground: Ground, site: Site) -> tuple[list[Turn], list[float]]:
    stop, drains = asyncio.Event(), []
    with ExitStack() as stack:
        servers = [stack.enter_context(ground.serve(site)) for _ in range(2)]
        ports = [server.port for server in servers]
        chatters = [Chatter(ports, site.keys[n % len(site.keys)], n) for n in range(ground.many(CHATS, 10))]
        chatting = [asyncio.create_task(_chat(chatter, stop)) for chatter in chatters]
        await asyncio.sleep(2)
        for server in servers:
            start = time.monotonic()
            server.ask_to_end()
            await asyncio.to_thread(server.process.popen.wait, 60)
            drains.append(time.monotonic() - start)
            await asyncio.to_thread(stack.enter_context, ground.serve(site, port=server.port))
            await asyncio.sleep(1)
        stop.set()
        return [turn for turns in await asyncio.gather(*chatting) for turn in turns], drains


async def _chat(chatter: Chatter, stop: asyncio.Event) -> list[Turn]:
    turns = []
    while not stop.is_set():
        turns.append(await chatter.turn("Tell me"))
    return turns
