"""Makes the tries at a running server, many at once, and searches every response for canaries."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from urllib.parse import quote

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Origin, Subprotocol

from tests.fake_answers import Answer, Recorded, reply
from tests.isolation.callers import Caller, Request
from tests.isolation.tries import ORDER, Talk, Tries

AT_ONCE = 8
# The status of a try without a complete response.
UNANSWERED = 0
PATIENCE_SECONDS, MOST_BYTES = 60.0, 2**23
# How long a response is read that may never end.
STREAM_SECONDS = 0.5
# Later frames are read until none comes for a moment, up to this time.
QUIET_SECONDS, REST_SECONDS, CLOSE_SECONDS = 0.1, 2.0, 2.0
ENDINGS = (b'"RUN_FINISHED"', b'"RUN_ERROR"', b'"protocol_error"')
PONG = b'"pong"'


@dataclass
class Found:
    """The results of the tries, counted by door and by status; 101 is a websocket that was opened."""

    tries: int = 0
    leaks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    doors: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)


def obeying(request: Recorded) -> Answer:
    """A model that calls the tools named in the message, and then repeats their results."""
    last = request.messages[-1] if request.messages else {}
    if last.get("role") == "tool":
        return reply(" ".join(str(one["content"]) for one in request.messages if one["role"] == "tool"))(request)
    if request.last_text.startswith(ORDER):
        return reply(calls=json.loads(request.last_text.removeprefix(ORDER)))(request)
    return reply("I know nothing.")(request)


class Trying:
    """Makes tries at the server `url` and collects results in `found`; with `until_leak` it stops at the first leak."""

    def __init__(self, url: str, tries: Tries, everybody: Sequence[Caller], *, until_leak: bool = False) -> None:
        self.found = Found()
        self._url = url
        self._tries = tries
        self._everybody = everybody
        self._until_leak = until_leak
        # A site that is broken on purpose answers fewer requests.
        self._patience = 10.0 if until_leak else PATIENCE_SECONDS

    async def make(self, count: int) -> Found:
        """Make this number of tries, by each caller in turn."""
        async with httpx2.AsyncClient(base_url=self._url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
            numbers = iter(range(count))
            await asyncio.gather(*(self._work(client, numbers) for _ in range(AT_ONCE)))
        return self.found

    async def _work(self, client: httpx2.AsyncClient, numbers: Iterator[int]) -> None:
        for number in numbers:
            if self._until_leak and self.found.leaks:
                return
            caller = self._everybody[number % len(self._everybody)]
            attempt = self._tries.one(caller)
            if isinstance(attempt, Talk):
                what = f"{attempt.kind} {attempt.place}"
                status, seen = await talk(self._url, caller, attempt, self._patience)
            else:
                what = f"{attempt.method} {attempt.path}"
                status, seen = await ask(client, caller, attempt, self._patience)
            self.found.doors[attempt.door] += 1
            self._judge(f"{attempt.door}: {caller.name}: {what} -> {status}", caller, status, seen)

    def _judge(self, what: str, caller: Caller, status: int, seen: bytes) -> None:
        self.found.tries += 1
        self.found.statuses[status] += 1
        if (status >= 500 or status == UNANSWERED) and "/readyz" not in what:
            self.found.failures.append(what)
        where = [seen.find(canary.encode()) for canary in caller.canaries]
        self.found.leaks += [f"{what}: {seen[max(0, at - 60) : at + 20]!r}" for at in where if at >= 0]


async def ask(
    client: httpx2.AsyncClient, caller: Caller, request: Request, seconds: float = PATIENCE_SECONDS
) -> tuple[int, bytes]:
    """Return the status, headers and body of a response, as far as they came. No redirects, no cookies.

    The status is `UNANSWERED` if the response did not end in time or within `MOST_BYTES`.
    """
    sent, heard = {**caller.headers, **request.headers}, bytearray()
    status = UNANSWERED
    try:
        async with (
            asyncio.timeout(seconds),
            client.stream(request.method, request.path, headers=sent, content=request.body) as response,
        ):
            client.cookies.clear()
            headers = " ".join(f"{name}: {value}" for name, value in response.headers.items())
            # A redirect to the sign-in page repeats the requested address, which the caller knows.
            heard += headers.replace(quote(request.path, safe="/"), "").encode()
            if await _read(response, heard, is_endless=request.is_endless):
                status = response.status_code
    except (TimeoutError, httpx2.HTTPError):
        pass
    return status, bytes(heard)


async def _read(response: httpx2.Response, heard: bytearray, *, is_endless: bool) -> bool:
    """Add the body to `heard`; return whether it ended, or is a stream that need not end."""
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    try:
        async with (
            asyncio.timeout(STREAM_SECONDS if is_stream and is_endless else None),
            aclosing(response.aiter_bytes()) as pieces,
        ):
            async for piece in pieces:
                heard += piece
                if len(heard) > MOST_BYTES:
                    return False
    except TimeoutError:
        return is_stream and is_endless
    return True


async def talk(url: str, caller: Caller, attempt: Talk, seconds: float = PATIENCE_SECONDS) -> tuple[int, bytes]:
    """Return 101 and all frames until the sent one was handled, `UNANSWERED` if it was not, or the refusal."""
    headers = {name: value for name, value in caller.headers.items() if name in {"authorization", "cookie"}}
    protocols = None
    if caller.origin:
        headers, protocols = {}, [Subprotocol("agui.v1"), Subprotocol(f"bearer.{caller.key}")]
    origin = caller.origin or ("" if caller.key else url)
    frames: list[bytes] = []
    try:
        async with connect(
            f"{url.replace('http', 'ws', 1)}{attempt.place}",
            additional_headers=headers,
            origin=Origin(origin) if origin else None,
            subprotocols=protocols,
            proxy=None,
            max_size=None,
            open_timeout=seconds,
            close_timeout=CLOSE_SECONDS,
        ) as connection:
            is_answered = await _listen(connection, attempt, frames, seconds)
            return 101 if is_answered else UNANSWERED, b"\n".join(frames)
    except InvalidStatus as exc:
        return exc.response.status_code, exc.response.body or b""
    except (TimeoutError, OSError, WebSocketException):
        return UNANSWERED, b"\n".join(frames)


async def _listen(connection: ClientConnection, attempt: Talk, frames: list[bytes], seconds: float) -> bool:
    """Add all frames to `frames`; return whether the one that was sent was answered."""
    try:
        async with asyncio.timeout(seconds):
            await connection.send(json.dumps(attempt.frame))
            await connection.send('{"type": "ping"}')
            while not _is_done(frames, attempt.kind):
                frames.append(await connection.recv(decode=False))
    except (TimeoutError, ConnectionClosed):
        return False
    # Frames that are still on their way.
    try:
        async with asyncio.timeout(REST_SECONDS):
            while sum(map(len, frames)) < MOST_BYTES:
                frames.append(await asyncio.wait_for(connection.recv(decode=False), QUIET_SECONDS))
    except (TimeoutError, ConnectionClosed):
        pass
    return True


def _is_done(frames: Sequence[bytes], kind: str) -> bool:
    """Return whether the frame was handled: a run has ended, an attachment has answered, else a pong has come."""
    if kind == "RunAgentInput":
        return any(ending in frame for frame in frames[-1:] for ending in ENDINGS)
    if kind == "attach":
        return any(PONG not in frame for frame in frames[-1:])
    return any(PONG in frame for frame in frames[-1:])
