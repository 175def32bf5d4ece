"""Two server processes are restarted one after the other while people chat."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import httpx2

from benchmarks.report import Line
from benchmarks.resilience.chatting import PATIENCE_SECONDS, RETRY_SECONDS, Chatter, Turn
from benchmarks.resilience.check import Fault, Ground
from benchmarks.resilience.client import run_input
from benchmarks.resilience.sites import POSTGRES, Server, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider

TITLE = "Rolling restart"
HOW = (
    "100 chats on two server processes (PostgreSQL, Redis), each with answers of 5 s one after the other. One is "
    "asked to end (SIGTERM), and started again on its port once it has; then the other. Beside them one client reads "
    "answers of 15 s over SSE, and one answers of 5 s over /v1."
)
CHATS = 100
NOT_WHOLE, REPEATED, UNTOLD, CUT, MOVED, DRAIN = (
    "answers lost, or not whole",
    "events or messages repeated",
    "connections that ended without being told (1012)",
    "event streams cut, or answers of /v1 not whole",
    "connections moved in mid-answer",
    "slowest end of a process",
)
WORDS, PACE = 100, 0.05
ANSWER = "".join(f"word{n} " for n in range(WORDS))
T = TypeVar("T")
AT_LENGTH, TIMES = "Tell me at length", 3
SERVICE_RESTART = 1012


def drain_nothing() -> None:
    """A process that is asked to end waits for none of its runs, and for no stream, over which runs would end too."""
    from assistant.services.connections import shutdown
    from assistant.services.runs import manager

    shutdown.MAX_STREAM_SECONDS = manager.DRAIN_SECONDS = 0.0


def end_no_stream() -> None:
    """A process that is asked to end leaves its streams to the server, which cuts them after a while."""

    from assistant.services.connections import shutdown

    shutdown.MAX_STREAM_SECONDS = 3600.0


FAULTS = (
    Fault("a process that is asked to end waits for no run", NOT_WHOLE, drain_nothing),
    Fault("a process that is asked to end ends no stream", CUT, end_no_stream),
)


@dataclass(slots=True)
class Reader:
    """Somebody who reads event streams, of each server in turn; `cut` counts those without an end."""

    ports: Sequence[int]
    key: str
    cut: int = 0
    _at: int = 0

    async def turn(self) -> Turn:
        """Ask over SSE, and resume until the run has ended. Raises `TimeoutError` if it does not."""
        turn = Turn(run_input(AT_LENGTH))
        events = f"/api/v1/tenants/bench/runs/{turn.given['runId']}/events/?protocolVersion=1.0"
        async with asyncio.timeout(PATIENCE_SECONDS):
            while turn.end is None:
                if turn.seq:
                    stream = self._read("GET", events, **{"Last-Event-ID": str(turn.seq)})
                else:
                    stream = self._read("POST", "/api/v1/tenants/bench/assistants/support/runs/", turn.given)
                async for event in stream:
                    turn.take(json.loads(event))
        return turn

    async def answer(self) -> str:
        """Ask over /v1; what came of the answer."""
        asked = {"model": "support", "stream": True, "messages": [{"role": "user", "content": "Tell me"}]}
        parts: list[str] = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not parts:
                async for chunk in self._read("POST", "/v1/chat/completions", asked):
                    choices = json.loads(chunk).get("choices", ()) if chunk != "[DONE]" else ()
                    parts += [choice["delta"].get("content") or "" for choice in choices]
        return "".join(parts)

    async def _read(self, method: str, path: str, body: Any = None, **headers: str) -> AsyncIterator[str]:
        """What a stream's events hold; nothing, if there is no server."""
        url = f"http://127.0.0.1:{self.ports[self._at % len(self.ports)]}{path}"
        headers = {"Authorization": f"Bearer {self.key}", **headers}
        try:
            async with (
                httpx2.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False) as http,
                http.stream(method, url, json=body, headers=headers) as response,
            ):
                response.raise_for_status()
                async for line in response.aiter_lines():
                    if line.startswith("data: "):
                        yield line.removeprefix("data: ")
        except httpx2.ConnectError:
            await asyncio.sleep(RETRY_SECONDS)
        except httpx2.RemoteProtocolError:
            self.cut += 1
        self._at += 1


@dataclass(slots=True)
class Rolled:
    """What came of the chats (`turns`), of the SSE client's and of the answers of /v1, and the seconds to each end."""

    turns: list[Turn] = field(default_factory=list)
    streamed: list[Turn] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    drains: list[float] = field(default_factory=list)
    cut: int = 0


def measure(ground: Ground) -> Sequence[Line]:
    with FakeProvider() as provider, ground.site(POSTGRES, provider.url) as site:
        provider.rule(_answer)
        rolled = asyncio.run(_roll(ground, site))
        counts = site.database.rows("SELECT role, count(*) FROM assistant_message GROUP BY role")
        turns = [*rolled.turns, *rolled.streamed]
        asked = len(turns) + len(rolled.answers)
        doubled = sum(abs(count - asked) for _, count in counts) + abs(len(provider.requests) - asked)
    codes = [code for turn in rolled.turns for code in turn.close_codes]
    told = sum(code == SERVICE_RESTART for code in codes)
    not_whole = sum(_is_not_whole(turn, ANSWER) for turn in rolled.turns)
    not_whole += sum(_is_not_whole(turn, TIMES * ANSWER) for turn in rolled.streamed)
    cut = rolled.cut + sum(answer != ANSWER for answer in rolled.answers)
    streams = f"in {len(rolled.streamed)} answers over SSE, {len(rolled.answers)} over /v1"
    return [
        Line(NOT_WHOLE, not_whole, "", 0, beside=f"of {len(turns)} answers"),
        Line(REPEATED, doubled + sum(turn.repeated for turn in turns), "", 0, beside="in clients, rows and requests"),
        Line(UNTOLD, len(codes) - told, "", 0),
        Line(CUT, cut, "", 0, beside=streams),
        Line(MOVED, len(codes), "", 1, True),
        Line(DRAIN, max(rolled.drains), "s", 30),
    ]


def _is_not_whole(turn: Turn, answer: str) -> bool:
    return turn.shown != answer or turn.end is None or turn.end["type"] != "RUN_FINISHED"


def _answer(request: Recorded) -> Answer:
    times = TIMES if request.last_text == AT_LENGTH else 1
    return reply(chunks=[f"word{n} " for n in range(WORDS)] * times, delay=PACE)(request)


async def _roll(ground: Ground, site: Site) -> Rolled:
    stop, rolled = asyncio.Event(), Rolled()
    with ExitStack() as stack:
        servers = [stack.enter_context(_serve(ground, site)) for _ in range(2)]
        ports = [server.port for server in servers]
        chatters = [Chatter(ports, site.keys[n % len(site.keys)], n) for n in range(ground.many(CHATS, 10))]
        readers = [Reader(ports, site.keys[0]) for _ in range(2)]
        chatting = [asyncio.create_task(_repeat(partial(chatter.turn, "Tell me"), stop)) for chatter in chatters]
        streaming = asyncio.create_task(_repeat(readers[0].turn, stop))
        answering = asyncio.create_task(_repeat(readers[1].answer, stop))
        await asyncio.sleep(2)
        for server in servers:
            start = time.monotonic()
            server.ask_to_end()
            await asyncio.to_thread(server.process.popen.wait, 60)
            rolled.drains.append(time.monotonic() - start)
            await asyncio.to_thread(stack.enter_context, _serve(ground, site, server.port))
            await asyncio.sleep(1)
        stop.set()
        rolled.turns = [turn for turns in await asyncio.gather(*chatting) for turn in turns]
        rolled.streamed, rolled.answers = await streaming, await answering
    rolled.cut = sum(reader.cut for reader in readers)
    return rolled


def _serve(ground: Ground, site: Site, port: int = 0) -> AbstractContextManager[Server]:
    return ground.serve(site, port=port, UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN="10")


async def _repeat(ask: Callable[[], Awaitable[T]], stop: asyncio.Event) -> list[T]:
    came: list[T] = []
    while not stop.is_set():
        came.append(await ask())
    return came
