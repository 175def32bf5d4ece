"""The server process is killed at a random point of a run."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import ENDINGS, Client, Disconnected, Frame, connected, run_input, run_of, seq_of
from benchmarks.resilience.figures import is_valid
from benchmarks.resilience.sites import POSTGRES, SQLITE, ForkServer, Server, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider, demo

TITLE = "Killed processes"
HOW = (
    "A server process is killed (SIGKILL) at a random time after a random event of a run, half of the times among the "
    "first events, while tools run. Runs answer with text, a tool and text, or two tools at once and text. The client "
    "connects to another process, sends its input again if it got no event, and attaches; it approves calls that were "
    "cut, if the run asks, and sends another prompt in the thread. What it saw is compared with the rows of the "
    "database. Half on SQLite, half on PostgreSQL and Redis."
)
KILLS = 100
AT_ONCE = 25
LOST, NOT_PREFIX, LATE, INVALID, SILENT, SEEN = (
    "user messages lost or doubled",
    "answers seen that are not a prefix of the stored answer",
    "runs that did not end within 30 s",
    "requests to the provider that are not valid",
    "threads that could not be used afterwards",
    "kills after text was seen",
)
LIMIT_SECONDS = 30.0
# Counted in events, not seconds, so that kills are not all early on a busy machine.
WORDS, EARLY = 40, 14
# A tool takes 300 ms, a word 15.
MOMENT_SECONDS = 0.15
PAY = '[call pay {"cents": 5, "before": 150, "after": 150}]'
ADD = '[call add {"a": 1, "b": 2}]'
TOO_EARLY = "all processes are killed at the first event"
PROMPTS = ("Tell me", f"{PAY}", f"{ADD} {PAY}")


def forget_the_answer() -> None:
    """The recovery of a dead run drops its partial answer."""
    from assistant.core.conversation.transcript import Transcript
    from assistant.services.runs.recovery import dead_runs

    class Forgetful(Transcript):
        @classmethod
        def from_state(cls, state: Mapping[str, object]) -> Transcript:
            return cls()

        def apply(self, event: object) -> None:
            pass

    dead_runs.Transcript = Forgetful  # type: ignore[attr-defined]


def forget_dead_runs() -> None:
    """Dead runs are not recovered."""
    from assistant.services.runs.recovery import recovery_task

    async def look_away(**_: object) -> int:
        return 0

    recovery_task.recover_dead_runs = look_away  # type: ignore[attr-defined]


def forget_the_question() -> None:
    """A run is opened without storing the user's message."""
    from assistant.services.runs.opening import begin_run

    begin_run.store_messages = lambda **_: None  # type: ignore[attr-defined]


def forget_results() -> None:
    """Requests to the provider lack the results of tools."""
    from assistant.core.turn import model_requests

    model_requests.repair = lambda messages: [one for one in messages if one.role != "tool"]  # type: ignore[attr-defined]


FAULTS = (
    Fault("the recovery of a dead run drops its partial answer", NOT_PREFIX, forget_the_answer),
    Fault("dead runs are not recovered", LATE, forget_dead_runs),
    Fault("dead runs are not recovered", SILENT, forget_dead_runs),
    Fault("the user's message is not stored", LOST, forget_the_question),
    Fault("results of tools are not sent to the provider", INVALID, forget_results),
    Fault(TOO_EARLY, SEEN),
)


@dataclass(frozen=True, slots=True)
class Killed:
    """The result of one kill.

    Args:
        was_running: the run had not ended before it.
        is_kept: the user's message is stored once.
        is_prefix: all text and results that were seen are stored.
        seconds: how long the run took to end after the kill.
        is_usable: the next prompt in the thread was answered.
        has_text: some text of the answer had been seen.
    """

    was_running: bool
    is_kept: bool
    is_prefix: bool
    seconds: float
    is_usable: bool
    has_text: bool


def measure(testbed: Testbed) -> Sequence[Line]:
    killed: list[Killed] = []
    invalid = asked = 0
    for kind in (SQLITE, POSTGRES):
        with (
            FakeProvider() as provider,
            testbed.site(kind, provider.url, RESILIENCE_LEDGER=str(testbed.folder / "ledger")) as site,
            testbed.serve(site) as survivor,
            testbed.fork_server(site) as fork_server,
        ):
            provider.rule(_paced)
            killed += asyncio.run(_kill_all(testbed, site, survivor, fork_server))
            invalid += sum(not is_valid(request.messages) for request in provider.requests)
            asked += len(provider.requests)
    slowest = max(one.seconds for one in killed)
    running, with_text = sum(one.was_running for one in killed), sum(one.has_text for one in killed)
    of = f"of {len(killed)} kills, {running} of them before the run's end"
    return [
        Line(LOST, sum(not one.is_kept for one in killed), "", 0, beside=of),
        Line(NOT_PREFIX, sum(not one.is_prefix for one in killed), "", 0),
        Line(LATE, sum(one.seconds > LIMIT_SECONDS for one in killed), "", 0, beside=f"the slowest {slowest:.1f} s"),
        Line(INVALID, invalid, "", 0, beside=f"of {asked} requests"),
        Line(SILENT, sum(not one.is_usable for one in killed), "", 0),
        Line(SEEN, with_text, "", len(killed) // 4, True),
    ]


def _paced(request: Recorded) -> Answer:
    if "[call" in request.last_text and request.messages[-1]["role"] == "user":
        return demo(request)
    return reply(chunks=[f"word{n} " for n in range(WORDS)], delay=0.015)(request)


async def _kill_all(testbed: Testbed, site: Site, survivor: Server, fork_server: ForkServer) -> list[Killed]:
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> Killed:
        async with turn:
            return await _kill(site, survivor, fork_server, number, is_early=testbed.has_fault(TOO_EARLY))

    return await asyncio.gather(*(one(number) for number in range(testbed.scaled(KILLS // 2, 6))))


async def _kill(site: Site, survivor: Server, fork_server: ForkServer, number: int, *, is_early: bool) -> Killed:
    key, chance = site.keys[number % len(site.keys)], random.Random(number)
    given = run_input(PROMPTS[number % len(PROMPTS)])
    victim = await fork_server.fork()
    async with connected(victim.port, key) as first:
        await first.send(given)
        await _read_on(first, 1 if is_early else chance.randint(0, chance.choice([EARLY, WORDS])))
        await asyncio.sleep(0 if is_early else chance.uniform(0, MOMENT_SECONDS))
        victim.kill()
        await _read_on(first)
    killed_at = time.monotonic()
    async with connected(survivor.port, key) as client:
        end, seconds = await _end_of(client, given, first, killed_at)
        kept, is_prefix = _stored(site, given, [*first.frames, *client.frames])
        await _approve(client, given["threadId"], end)
        after = await client.ask("And now?", thread=given["threadId"])
    was_running = not any(frame["type"] in ENDINGS for frame in first.frames)
    return Killed(
        was_running,
        kept,
        is_prefix and end["type"] in ENDINGS,
        seconds,
        is_usable=after["type"] == "RUN_FINISHED",
        has_text=any(frame["type"] == "TEXT_MESSAGE_CONTENT" for frame in first.frames),
    )


async def _approve(client: Client, thread: str, end: Frame) -> None:
    """Let the calls run again that were cut, if the run has ended with this question."""
    asked = end.get("outcome", {}).get("interrupts", ())
    answers = [{"interruptId": one["id"], "status": "resolved", "payload": {"approved": True}} for one in asked]
    if answers:
        given = run_input("", thread=thread, messages=[], resume=answers)
        await client.send(given)
        await client.until_end(given["runId"])


async def _read_on(client: Client, events: float = math.inf) -> None:
    """Read so many events of the run, or all until the connection or the run ends."""
    try:
        while sum(map(bool, map(seq_of, client.frames))) < events:
            if (await client.next())["type"] in ENDINGS and events < math.inf:
                return
    except Disconnected:
        return


async def _end_of(client: Client, given: Frame, first: Client, killed_at: float) -> tuple[Frame, float]:
    """Return the last event of the killed process's run, read from another process, and the seconds until it came."""
    run, seen = given["runId"], max(map(seq_of, first.frames), default=0)
    if seen:
        await client.attach(given["threadId"], after=(run, seen))
        if first.frames[-1]["type"] in ENDINGS:
            return first.frames[-1], 0.0
    else:
        await client.send(given)
    try:
        end = await client.until_end(run, LIMIT_SECONDS + 15)
    except TimeoutError:
        return {"type": "NEVER"}, LIMIT_SECONDS + 15
    return end, time.monotonic() - killed_at


def _stored(site: Site, given: Frame, frames: Sequence[Frame]) -> tuple[bool, bool]:
    """Return whether the user's message is stored once, and whether all that was seen of the answer is stored."""
    rows = site.database.rows(
        "SELECT message_id, role, content, tool_call_id FROM assistant_message WHERE conversation_id = %s",
        given["threadId"] if site.kind == POSTGRES else given["threadId"].replace("-", ""),
    )
    asked = given["messages"][0]
    users = [row for row in rows if row[1] == "user"]
    is_kept = [(row[0], row[2]) for row in users] == [(asked["id"], asked["content"])]
    texts = {row[0]: row[2] for row in rows if row[1] == "assistant"}
    results = {row[3]: row[2] for row in rows if row[1] == "tool"}
    is_prefix = all(texts.get(name, "").startswith(text) for name, text in _texts(frames, given["runId"]).items())
    has_results = all(
        results.get(frame["toolCallId"]) == frame["content"] for frame in frames if frame["type"] == "TOOL_CALL_RESULT"
    )
    return is_kept, is_prefix and has_results


def _texts(frames: Sequence[Frame], run: str) -> Mapping[str, str]:
    """Return the text that was seen of each of the assistant's messages, by id."""
    texts: dict[str, str] = {}
    for message, delta in _deltas(frames, run):
        texts[message] = texts.get(message, "") + delta
    return texts


def _deltas(frames: Sequence[Frame], run: str) -> Iterator[tuple[str, str]]:
    seen = 0
    for frame in frames:
        if run_of(frame) == run and frame["type"] == "TEXT_MESSAGE_CONTENT" and seq_of(frame) > seen:
            seen = seq_of(frame)
            yield frame["messageId"], frame["delta"]
