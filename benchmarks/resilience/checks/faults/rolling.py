"""Two server processes are restarted one after the other during many chats."""

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
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import run_input
from benchmarks.resilience.reconnecting_client import PATIENCE_SECONDS, RETRY_SECONDS, ReconnectingClient, Turn
from benchmarks.resilience.sites import POSTGRES, Server, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider

TITLE = "Rolling restart"
HOW = (
    "100 chats on two server processes (PostgreSQL, Redis), each with answers of 5 s one after the other. One process "
    "gets SIGTERM, and is started again on its port when it has ended; then the other. Meanwhile one client reads "
    "answers of 15 s over SSE, and one answers of 5 s over /v1."
)
CHATS = 100
NOT_WHOLE, REPEATED, UNTOLD, CUT, MOVED, DRAIN = (
    "answers lost or not complete",
    "events or messages repeated",
    "connections that did not close with code 1012",
    "event streams cut, or answers of /v1 not complete",
    "connections that changed the server during an answer",
    "slowest shutdown of a process",
)
WORDS, PACE = 100, 0.05
ANSWER = "".join(f"word{n} " for n in range(WORDS))
T = TypeVar("T")
AT_LENGTH, TIMES = "Tell me at length", 3
SERVICE_RESTART = 1012


def drain_nothing() -> None:
    """A shutdown waits neither for runs nor for streams, over which runs would end too."""
    from assistant.services.connections import shutdown
    from assistant.services.runs import manager

    shutdown.MAX_STREAM_SECONDS = manager.DRAIN_SECONDS = 0.0


def end_no_stream() -> None:
    """A shutdown does not end its streams, so that the server cuts them."""

    from assistant.services.connections import shutdown

    shutdown.MAX_STREAM_SECONDS = 3600.0


FAULTS = (
    Fault("a shutdown does not wait for runs", NOT_WHOLE, drain_nothing),
    Fault("a shutdown does not end its streams", CUT, end_no_stream),
)


@dataclass(slots=True)
class Reader:
    """A client that reads event streams from each server in turn; `cut` counts those without an end."""

    ports: Sequence[int]
    key: str
    cut: int = 0
    _at: int = 0

    async def turn(self) -> Turn:
        """Send a prompt over SSE, and resume until the run has ended. Raises `TimeoutError` if it does not."""
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
        """Send a prompt over /v1, and return the text that came."""
        asked = {"model": "support", "stream": True, "messages": [{"role": "user", "content": "Tell me"}]}
        parts: list[str] = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not parts:
                async for chunk in self._read("POST", "/v1/chat/completions", asked):
                    choices = json.loads(chunk).get("choices", ()) if chunk != "[DONE]" else ()
                    parts += [choice["delta"].get("content") or "" for choice in choices]
        return "".join(parts)

    async def _read(self, method: str, path: str, body: Any = None, **headers: str) -> AsyncIterator[str]:
        """Yield the data of a stream's events; nothing if no server answers."""
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
    """The turns of the chats and of the SSE client, the answers of /v1, and the seconds of each shutdown."""

    turns: list[Turn] = field(default_factory=list)
    streamed: list[Turn] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    drains: list[float] = field(default_factory=list)
    cut: int = 0


def measure(testbed: Testbed) -> Sequence[Line]:
    with FakeProvider() as provider, testbed.site(POSTGRES, provider.url) as site:
        provider.rule(_answer)
        rolled = asyncio.run(_roll(testbed, site))
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


async def _roll(testbed: Testbed, site: Site) -> Rolled:
    stop, rolled = asyncio.Event(), Rolled()
    with ExitStack() as stack:
        servers = [stack.enter_context(_serve(testbed, site)) for _ in range(2)]
        ports = [server.port for server in servers]
        clients = [
            ReconnectingClient(ports, site.keys[n % len(site.keys)], n) for n in range(testbed.scaled(CHATS, 10))
        ]
        readers = [Reader(ports, site.keys[0]) for _ in range(2)]
        chatting = [asyncio.create_task(_repeat(partial(client.turn, "Tell me"), stop)) for client in clients]
        streaming = asyncio.create_task(_repeat(readers[0].turn, stop))
        answering = asyncio.create_task(_repeat(readers[1].answer, stop))
        await asyncio.sleep(2)
        for server in servers:
            start = time.monotonic()
            server.terminate()
            await asyncio.to_thread(server.process.popen.wait, 60)
            rolled.drains.append(time.monotonic() - start)
            await asyncio.to_thread(stack.enter_context, _serve(testbed, site, server.port))
            await asyncio.sleep(1)
        stop.set()
        rolled.turns = [turn for turns in await asyncio.gather(*chatting) for turn in turns]
        rolled.streamed, rolled.answers = await streaming, await answering
    rolled.cut = sum(reader.cut for reader in readers)
    return rolled


def _serve(testbed: Testbed, site: Site, port: int = 0) -> AbstractContextManager[Server]:
    return testbed.serve(site, port=port, UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN="10")


async def _repeat(ask: Callable[[], Awaitable[T]], stop: asyncio.Event) -> list[T]:
    came: list[T] = []
    while not stop.is_set():
        came.append(await ask())
    return came
