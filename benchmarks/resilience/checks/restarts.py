"""PostgreSQL restarts, then Redis, in the middle of many chats."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from benchmarks.report import Line
from benchmarks.resilience.chatting import Chatter, Turn
from benchmarks.resilience.check import Fault, Ground
from benchmarks.resilience.sites import POSTGRES, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider, demo

TITLE = "Restarts of PostgreSQL and Redis"
HOW = (
    "100 chats on two server processes: 80 with answers of 8 s, 20 with short ones one after the other, half of these "
    "with a tool. After 2 s PostgreSQL is stopped (fast shutdown) and started again 1 s later; then the same with "
    "Redis, which keeps nothing on disk. A question that is refused meanwhile is asked again under the same ids; a "
    "client's silence is counted from its first try."
)
CHATS, SHORT_SHARE = 100, 0.2
NOT_WHOLE, NOT_STORED, FAILED, UNTYPED, SILENCE = (
    "answers shown that are not whole",
    "answers not stored once and whole",
    "runs that failed",
    "questions refused without a moment to come back",
    "longest silence of a client",
)
LONG, SHORT = 100, 5
PACE = 0.08
AFTER_SECONDS, AWAY_SECONDS, SHORT_SECONDS = 2.0, 1.0, 9.0
TOOL = 'A short answer [call pay {"cents": 5, "before": 100, "after": 100}]'


def give_up_on_redis() -> None:
    """A write to Redis is tried once."""
    from assistant.services import redislog

    redislog.PATIENCE_SECONDS = -1.0


def give_up_on_the_database() -> None:
    """What a run writes to the database is tried once."""
    from assistant.services import database

    database.PATIENCE_SECONDS = -1.0


FAULTS = (
    Fault("a write to Redis is tried once", FAILED, give_up_on_redis),
    Fault("what a run writes to the database is tried once", FAILED, give_up_on_the_database),
)


def _words(count: int) -> list[str]:
    return [f"word{n} " for n in range(count)]


def measure(ground: Ground) -> Sequence[Line]:
    turns: list[Turn] = []
    wrong = failed = 0
    services, took = ground.services, []
    for service in (services.postgres, services.redis):
        ledger = str(ground.folder / "restarts")
        with FakeProvider() as provider, ground.site(POSTGRES, provider.url, RESILIENCE_LEDGER=ledger) as site:
            provider.rule(_answer)

            def restart(service=service) -> None:  # type: ignore[no-untyped-def]
                start = time.monotonic()
                service.stop()
                time.sleep(AWAY_SECONDS)
                service.start()
                took.append(time.monotonic() - start)

            done = asyncio.run(_chat_through(ground, site, restart))
        turns += done
        wrong += _not_stored(site, done)
        failed += sum(turn.end is None or turn.end["type"] != "RUN_FINISHED" for turn in done)
    refusals = [refusal for turn in turns for refusal in turn.refusals]
    not_whole = sum(turn.shown != "".join(_words(_length(turn))) or turn.missing > 0 for turn in turns)
    repeated = sum(turn.repeated for turn in turns)
    silence = max(turn.silence for turn in turns)
    back = f"restarts took {' and '.join(f'{one:.1f} s' for one in took)}"
    return [
        Line(NOT_WHOLE, not_whole, "", 0, beside=f"of {len(turns)} answers; {repeated} events came twice"),
        Line(NOT_STORED, wrong, "", 0),
        Line(FAILED, failed, "", 0, beside=f"{len(refusals)} questions refused meanwhile, and asked again"),
        Line(UNTYPED, sum("resetsAt" not in refusal["metadata"] for refusal in refusals), "", 0),
        Line(SILENCE, silence, "s", 10, beside=back),
    ]


def _length(turn: Turn) -> int:
    return SHORT if "short" in turn.given["messages"][0]["content"] else LONG


def _answer(request: Recorded) -> Answer:
    if "[call" in request.last_text and request.messages[-1]["role"] == "user":
        return demo(request)
    question = next(message["content"] for message in reversed(request.messages) if message["role"] == "user")
    return reply(chunks=_words(SHORT if "short" in question else LONG), delay=PACE)(request)


async def _chat_through(ground: Ground, site: Site, restart: Callable[[], None]) -> list[Turn]:
    chats = ground.many(CHATS, 10)
    short = max(4, round(chats * SHORT_SHARE))
    with ground.serve(site) as here, ground.serve(site) as there:
        ports = [here.port, there.port]
        chatters = [Chatter(ports, site.keys[n % len(site.keys)], n) for n in range(chats)]
        until = time.monotonic() + SHORT_SECONDS
        asking = [asyncio.create_task(_one(chatter)) for chatter in chatters[short:]]
        for number, chatter in enumerate(chatters[:short]):
            asking.append(asyncio.create_task(_many(chatter, TOOL if number % 2 else "A short answer", until)))
        await asyncio.sleep(AFTER_SECONDS)
        await asyncio.to_thread(restart)
        return [turn for turns in await asyncio.gather(*asking) for turn in turns]


async def _one(chatter: Chatter) -> list[Turn]:
    return [await chatter.turn("A long answer")]


async def _many(chatter: Chatter, question: str, until: float) -> list[Turn]:
    turns = []
    while time.monotonic() < until:
        turns.append(await chatter.turn(question))
    return turns


def _not_stored(site: Site, turns: Sequence[Turn]) -> int:
    """How many turns are not in the database exactly once, with their whole answer."""
    rows = site.database.rows(
        "SELECT conversation_id, role, content FROM assistant_message WHERE role <> 'tool' AND content <> ''"
    )
    by_thread: dict[str, list[tuple[str, str]]] = {}
    for thread, role, content in rows:
        by_thread.setdefault(str(thread), []).append((role, content))
    return sum(
        sorted(by_thread.get(turn.given["threadId"], ()))
        != [("assistant", "".join(_words(_length(turn)))), ("user", turn.given["messages"][0]["content"])]
        for turn in turns
    )
