"""The server process is killed at a random point of a run, which goes on in another process."""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.checks.faults.kills import forget_the_answer, forget_the_question
from benchmarks.resilience.client import ENDINGS, Client, Disconnected, Frame, connected, run_input, run_of, seq_of
from benchmarks.resilience.sites import POSTGRES, SQLITE, ForkServer, Server, Site
from tests.agui import numbered
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider, demo

TITLE = "Resumed runs"
HOW = (
    "A server process is killed (SIGKILL) at a random time after a random event of a run. Runs answer with text, a "
    "tool that pays and text, two tools at once and text, with the help of a sub-agent, or with a typed answer. A "
    "tenth is killed when the tool has paid and not returned. The client attaches to another process after the last "
    "event that it has, and does nothing but wait. Half on SQLite, half on PostgreSQL and Redis."
)
KILLS = 100
AT_ONCE = 10
LIMIT_SECONDS = 30.0
LOST, FINISHED, EVENTS, TWICE, SILENT, MIDDLE = (
    "user messages lost or doubled",
    "runs that finished by themselves with the whole answer, of those not cut in a call with an effect",
    "runs whose attached client lost an event or got one twice",
    "effects beyond distinct idempotency keys",
    "runs that neither ended nor asked a person",
    "runs that were cut in the middle",
)
WORDS = [f"word{n} " for n in range(40)]
ANSWER = "".join(WORDS)
TYPED = {"words": WORDS}
SCHEMA = {
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}}},
    "required": ["words"],
    "additionalProperties": False,
}
MOMENT_SECONDS = 0.15
# Of the tool that pays: the money leaves after half of the time.
PAID_SECONDS = 0.2
PAY = '[call pay {"cents": 5, "before": 150, "after": 150}]'
ADD = '[call add {"a": 1, "b": 2}]'
ASK = '[call ask_expert {"task": "Tell me"}]'
TOO_LATE = "all processes are killed after the end of the run"
# A text, a tool, two tools, a sub-agent, a typed answer: assistant, prompt and options of each.
KINDS: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("support", "Tell me", {}),
    ("support", PAY, {}),
    ("support", f"{ADD} {PAY}", {}),
    ("lead", ASK, {}),
    ("support", "Tell me in the form", {"outputSchema": SCHEMA}),
)


def end_dead_runs() -> None:
    """Runs of dead processes end as interrupted."""
    from django.conf import settings

    settings.ASSISTANT_RUN_RESUMES = 0


def repeat_calls() -> None:
    """Calls that had begun run again, whatever their tools declare."""
    from assistant.services.runs.extensions import interrupted_calls
    from assistant.services.toolcalls import run_journal

    run_journal.replayed = lambda *_: None  # type: ignore[attr-defined]
    interrupted_calls.InterruptedCalls.planned = lambda _, plan: plan  # type: ignore[method-assign, assignment]


FAULTS = (
    Fault("runs of dead processes end", FINISHED, end_dead_runs),
    Fault("the recovery of a dead run drops its partial answer", EVENTS, forget_the_answer),
    Fault("calls that had begun run again", TWICE, repeat_calls),
    Fault("the user's message is not stored", LOST, forget_the_question),
    Fault(TOO_LATE, MIDDLE),
)


@dataclass(frozen=True, slots=True)
class Resumed:
    """The result of one kill.

    Args:
        was_running: the run had not ended before it.
        is_kept: the user's message is stored once.
        is_whole: the run finished within the limit with the whole answer.
        is_asked: it waits for a person, because it was cut in a call with an effect.
        has_ended: it has ended, in time or not, with a reason if it failed.
        is_continuous: the client has every event once.
        seconds: from the kill to the end.
    """

    was_running: bool
    is_kept: bool
    is_whole: bool
    is_asked: bool
    has_ended: bool
    is_continuous: bool
    seconds: float


def measure(testbed: Testbed) -> Sequence[Line]:
    resumed: list[Resumed] = []
    twice = 0
    for kind in (SQLITE, POSTGRES):
        ledger = testbed.folder / f"ledger-{kind}-{testbed.services.number()}"
        with (
            FakeProvider() as provider,
            testbed.site(kind, provider.url, RESILIENCE_LEDGER=str(ledger)) as site,
            testbed.serve(site) as survivor,
            testbed.fork_server(site) as fork_server,
        ):
            provider.rule(_paced)
            resumed += asyncio.run(_kill_all(testbed, site, survivor, fork_server))
        twice += _doubled(ledger)
    running = [one for one in resumed if one.was_running]
    alone = [one for one in running if not one.is_asked]
    whole = sum(one.is_whole for one in alone)
    slowest = max((one.seconds for one in alone), default=0.0)
    asked = len(running) - len(alone)
    return [
        Line(LOST, sum(not one.is_kept for one in resumed), "", 0, beside=f"of {len(resumed)} kills"),
        Line(
            FINISHED,
            100 * whole / max(1, len(alone)),
            "%",
            95,
            True,
            beside=f"{whole} of {len(alone)}, the slowest after {slowest:.1f} s; {asked} more wait for a person",
        ),
        Line(EVENTS, sum(not one.is_continuous for one in resumed), "", 0),
        Line(TWICE, twice, "", 0),
        Line(SILENT, sum(not one.has_ended for one in alone), "", 0),
        Line(MIDDLE, len(running), "", len(resumed) // 2, True),
    ]


def _doubled(ledger: Path) -> int:
    keys = [line.split(" ")[0] for line in ledger.read_text().splitlines()] if ledger.exists() else []
    return len(keys) - len(set(keys))


def _paced(request: Recorded) -> Answer:
    if "[call" in request.last_text and request.messages[-1]["role"] == "user":
        return demo(request)
    if request.json.get("response_format"):
        text = json.dumps(TYPED)
        return reply(chunks=[text[at : at + 12] for at in range(0, len(text), 12)], delay=0.015)(request)
    return reply(chunks=WORDS, delay=0.015)(request)


async def _kill_all(testbed: Testbed, site: Site, survivor: Server, fork_server: ForkServer) -> list[Resumed]:
    turn, is_late = asyncio.Semaphore(AT_ONCE), testbed.has_fault(TOO_LATE)

    async def one(number: int) -> Resumed:
        async with turn:
            return await _kill(site, survivor, fork_server, number, is_late=is_late)

    return await asyncio.gather(*(one(number) for number in range(testbed.scaled(KILLS // 2, 10))))


async def _kill(site: Site, survivor: Server, fork_server: ForkServer, number: int, *, is_late: bool) -> Resumed:
    key, chance = site.keys[number % len(site.keys)], random.Random(number)
    assistant, prompt, options = KINDS[number % len(KINDS)]
    given = run_input(prompt, forwardedProps=options)
    victim = await fork_server.fork()
    async with connected(victim.port, key, assistant=assistant) as first:
        await first.send(given)
        if number % 10 == 1 and not is_late:
            await _read_on(first, until=lambda frame: frame.get("name") == "tool.started")
            await asyncio.sleep(PAID_SECONDS)
        else:
            await _read_on(first, math.inf if is_late else chance.randint(1, len(WORDS)))
            await asyncio.sleep(chance.uniform(0, MOMENT_SECONDS))
        victim.kill()
        await _read_on(first)
    killed_at = time.monotonic()
    own = [frame for frame in first.frames if run_of(frame) == given["runId"]]
    was_running = not any(frame["type"] in ENDINGS for frame in own)
    async with connected(survivor.port, key, assistant=assistant) as client:
        if was_running:
            await client.attach(given["threadId"], after=(given["runId"], max(map(seq_of, own), default=0)))
        end = await _end_of(client, given["runId"]) if was_running else own[-1]
    seconds = time.monotonic() - killed_at
    outcome = end.get("outcome", {}).get("type", "")
    is_finished = end["type"] == "RUN_FINISHED" and outcome == "success" and seconds <= LIMIT_SECONDS
    is_kept, answer, texts = _stored(site, given)
    seen = [*own, *(frame for frame in client.frames if run_of(frame) == given["runId"])]
    return Resumed(
        was_running,
        is_kept,
        is_finished and (end.get("result") == TYPED if options else answer == ANSWER),
        is_asked=outcome == "interrupt",
        has_ended=end["type"] == "RUN_FINISHED" or bool(end.get("message")),
        is_continuous=_is_continuous(seen, texts),
        seconds=seconds,
    )


async def _read_on(
    client: Client, events: float = math.inf, *, until: Callable[[Frame], bool] = lambda _: False
) -> None:
    """Read so many events of the run, or up to one, or all until the connection or the run ends."""
    try:
        while sum(map(bool, map(seq_of, client.frames))) < events:
            frame = await client.next()
            if frame["type"] in ENDINGS or until(frame):
                return
    except Disconnected:
        return


async def _end_of(client: Client, run: str) -> Frame:
    try:
        return await client.until_end(run, LIMIT_SECONDS + 15)
    except TimeoutError:
        return {"type": "NEVER"}


def _is_continuous(frames: Sequence[Frame], stored: Mapping[str, str]) -> bool:
    """Whether the numbers of a client's events follow each other, and the texts that they make are the stored ones.

    A snapshot stands for all events up to its own number, which is also that of the events sent with it. It may be
    older than what the client had: a process that cannot read the dead one's log yet has only the checkpoint.
    """
    snapshots = {seq_of(frame) for frame in frames if frame["type"] == "MESSAGES_SNAPSHOT"}
    texts: dict[str, str] = {}
    last = 0
    for frame in numbered(frames):
        seq = seq_of(frame)
        if seq not in snapshots and seq != last + 1:
            return False
        last = seq
        if frame["type"] == "MESSAGES_SNAPSHOT":
            own = [one for one in frame["messages"] if one["role"] == "assistant" and "subagentRunId" not in one]
            texts = {one["id"]: one.get("content", "") for one in own}
        elif frame["type"] == "TEXT_MESSAGE_CONTENT" and "subagentRunId" not in frame:
            texts[frame["messageId"]] = texts.get(frame["messageId"], "") + frame["delta"]
    return all(stored.get(name) == text for name, text in texts.items())


def _stored(site: Site, given: Frame) -> tuple[bool, str, Mapping[str, str]]:
    """Return whether the user's message is stored once, the last text that is not superseded, and all texts by id."""
    rows = site.database.rows(
        "SELECT message_id, role, content, is_superseded FROM assistant_message WHERE conversation_id = %s "
        "ORDER BY position",
        given["threadId"] if site.kind == POSTGRES else given["threadId"].replace("-", ""),
    )
    asked = given["messages"][0]
    users = [(row[0], row[2]) for row in rows if row[1] == "user"]
    answers = [row for row in rows if row[1] == "assistant"]
    said = [row[2] for row in answers if row[2] and not row[3]]
    texts = {row[0]: row[2] for row in answers}
    return users == [(asked["id"], asked["content"])], said[-1] if said else "", texts
