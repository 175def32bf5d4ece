"""PostgreSQL, then Redis, restarts during many chats."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.checks.faults.effects import pay_twice
from benchmarks.resilience.client import run_input
from benchmarks.resilience.reconnecting_client import ReconnectingClient, Turn
from benchmarks.resilience.sites import POSTGRES, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider, demo

TITLE = "Restarts of PostgreSQL and Redis"
HOW = (
    "100 chats on two server processes: 80 with answers of 8 s, 20 with short ones one after the other, half of these "
    "with a tool that pays (a line in a file, with the call's idempotency key). A second client follows each long "
    "answer from the other process, half of them from before the restart and half from right after it. After 2 s "
    "PostgreSQL is stopped (fast shutdown) and started again 1 s later; then the same with Redis, which stores "
    "nothing on disk. A refused prompt is sent again with the same ids; the time without an event is counted from the "
    "first try, less the time of the restart."
)
CHATS, SHORT_SHARE = 100, 0.2
NOT_WHOLE, NOT_STORED, NOT_SEEN, FAILED, LOGLESS, TWICE, PAID, UNTYPED, SILENCE = (
    "answers shown that are not complete",
    "answers not stored once and completely",
    "answers followed from the other process that differ from the stored ones",
    "runs that failed",
    "runs that went on without their log",
    "payments beyond distinct idempotency keys",
    "payments made, of those requested",
    "prompts refused without a retry time",
    "longest time of a client without an event, beyond the restart",
)
LONG, SHORT = 100, 5
# Of a word. Longer answers have fewer checkpoints, so that more is lost with Redis.
LETTERS = 1000
# The log message of a run that has given up on Redis: it is stored at its end, but cannot be followed until then.
GAVE_UP = "continues without its event log"
PACE = 0.08
AFTER_SECONDS, AWAY_SECONDS, SHORT_SECONDS = 2.0, 1.0, 9.0
TOOL = 'A short answer [call pay {"cents": 5, "before": 100, "after": 100}]'


def give_up_on_redis() -> None:
    """A write to Redis is tried once."""
    from assistant.contrib.redis import log as redis

    redis.MAX_RETRY_SECONDS = -1.0


def give_up_on_the_database() -> None:
    """A write of a run to the database is tried once."""
    from assistant.services.db import threads

    threads.MAX_RETRY_SECONDS = -1.0


def skip_lost_events() -> None:
    """A follower gets the next event of the log, even if events before it are missing."""
    from assistant.websocket.follower import Follower

    Follower._is_reachable = lambda *_: True  # type: ignore[method-assign]


FAULTS = (
    Fault("a write to Redis is tried once", LOGLESS, give_up_on_redis),
    Fault("a write of a run to the database is tried once", FAILED, give_up_on_the_database),
    Fault("lost events are skipped", NOT_SEEN, skip_lost_events),
    Fault("a payment is made twice", TWICE, pay_twice),
)


def _words(count: int) -> list[str]:
    return [f"word{n}".ljust(LETTERS, ".") + " " for n in range(count)]


def measure(testbed: Testbed) -> Sequence[Line]:
    turns: list[Turn] = []
    not_stored = not_seen = logless = 0
    services, took, silences = testbed.services, list[float](), list[float]()
    ledger = testbed.folder / f"restarts-{services.number()}"
    ledger.touch()
    for service in (services.postgres, services.redis):
        with FakeProvider() as provider, testbed.site(POSTGRES, provider.url, RESILIENCE_LEDGER=str(ledger)) as site:
            provider.rule(_answer)

            def restart(service=service) -> None:  # type: ignore[no-untyped-def]
                start = time.monotonic()
                service.stop()
                time.sleep(AWAY_SECONDS)
                service.start()
                took.append(time.monotonic() - start)

            done, gave_up = asyncio.run(_chat_through(testbed, site, restart))
        stored = _stored(site)
        not_stored += sum(not turn.is_watched and not _is_stored(stored, turn) for turn in done)
        not_seen += sum(turn.is_watched and not _is_seen(stored, turn) for turn in done)
        logless += gave_up
        silences.append(max(turn.silence for turn in done) - took[-1])
        turns += done
    back = f"restarts took {' and '.join(f'{one:.1f} s' for one in took)}"
    watched = sum(turn.is_watched for turn in turns)
    asked = [turn for turn in turns if not turn.is_watched]
    return [
        *_answers(asked),
        Line(NOT_STORED, not_stored, "", 0),
        Line(NOT_SEEN, not_seen, "", 0, beside=f"of {watched}"),
        Line(LOGLESS, logless, "", 0),
        *_payments(asked, ledger),
        Line(SILENCE, max(silences), "s", 8, beside=back),
    ]


def _answers(asked: Sequence[Turn]) -> list[Line]:
    refusals = [refusal for turn in asked for refusal in turn.refusals]
    not_whole = sum(turn.shown != "".join(_words(_length(turn))) or turn.missing > 0 for turn in asked)
    repeated = sum(turn.repeated for turn in asked)
    failed = sum(turn.end is None or turn.end["type"] != "RUN_FINISHED" for turn in asked)
    return [
        Line(NOT_WHOLE, not_whole, "", 0, beside=f"of {len(asked)} answers; {repeated} events came twice"),
        Line(FAILED, failed, "", 0, beside=f"{len(refusals)} prompts refused meanwhile, and sent again"),
        Line(UNTYPED, sum("resetsAt" not in refusal["metadata"] for refusal in refusals), "", 0),
    ]


def _payments(asked: Sequence[Turn], ledger: Path) -> list[Line]:
    keys = [line.split()[0] for line in ledger.read_text().splitlines()]
    wanted = sum(_question(turn) == TOOL for turn in asked)
    return [
        Line(TWICE, len(keys) - len(set(keys)), "", 0),
        Line(PAID, len(set(keys)), "", wanted, True),
    ]


def _question(turn: Turn) -> str:
    return str(turn.given["messages"][0]["content"])


def _length(turn: Turn) -> int:
    return SHORT if "short" in _question(turn) else LONG


def _answer(request: Recorded) -> Answer:
    if "[call" in request.last_text and request.messages[-1]["role"] == "user":
        return demo(request)
    question = next(message["content"] for message in reversed(request.messages) if message["role"] == "user")
    return reply(chunks=_words(SHORT if "short" in question else LONG), delay=PACE)(request)


async def _chat_through(testbed: Testbed, site: Site, restart: Callable[[], None]) -> tuple[list[Turn], int]:
    """Return all turns, and how many runs went on without their log."""
    chats = testbed.scaled(CHATS, 10)
    short = max(4, round(chats * SHORT_SHARE))
    with testbed.serve(site) as here, testbed.serve(site) as there:
        ports = [here.port, there.port]
        clients = [ReconnectingClient(ports, site.keys[n % len(site.keys)], n) for n in range(chats)]
        until = time.monotonic() + SHORT_SECONDS
        early, late = asyncio.Event(), asyncio.Event()
        asking = []
        for number, client in enumerate(clients[short:], short):
            watcher = ReconnectingClient([ports[(number + 1) % 2]], site.keys[number % len(site.keys)], 0)
            asking.append(asyncio.create_task(_one(client, watcher, late if number // 2 % 2 else early)))
        for number, client in enumerate(clients[:short]):
            asking.append(asyncio.create_task(_many(client, TOOL if number % 2 else "A short answer", until)))
        await asyncio.sleep(AFTER_SECONDS / 2)
        early.set()
        await asyncio.sleep(AFTER_SECONDS / 2)
        await asyncio.to_thread(restart)
        late.set()
        turns = [turn for turns in await asyncio.gather(*asking) for turn in turns]
        return turns, sum(server.log().count(GAVE_UP) for server in (here, there))


async def _one(client: ReconnectingClient, watcher: ReconnectingClient, moment: asyncio.Event) -> list[Turn]:
    asked = Turn(run_input("A long answer"))
    asking = asyncio.create_task(client.finish(asked))
    await moment.wait()
    return [await watcher.finish(Turn(asked.given, is_watched=True)), await asking]


async def _many(client: ReconnectingClient, question: str, until: float) -> list[Turn]:
    turns = []
    while time.monotonic() < until:
        turns.append(await client.turn(question))
    return turns


def _stored(site: Site) -> dict[str, list[tuple[str, str]]]:
    """Return role and text of the messages of each thread."""
    rows = site.database.rows(
        "SELECT conversation_id, role, content FROM assistant_message WHERE role <> 'tool' AND content <> ''"
    )
    by_thread: dict[str, list[tuple[str, str]]] = {}
    for thread, role, content in rows:
        by_thread.setdefault(str(thread), []).append((role, content))
    return by_thread


def _is_stored(stored: Mapping[str, Sequence[tuple[str, str]]], turn: Turn) -> bool:
    """Whether prompt and answer are stored exactly once, and completely."""
    whole = "".join(_words(_length(turn)))
    return sorted(stored.get(turn.given["threadId"], ())) == [("assistant", whole), ("user", _question(turn))]


def _is_seen(stored: Mapping[str, Sequence[tuple[str, str]]], turn: Turn) -> bool:
    """Whether a follower shows the stored answer at the end."""
    return turn.missing == 0 and ("assistant", turn.shown) in stored.get(turn.given["threadId"], ())
