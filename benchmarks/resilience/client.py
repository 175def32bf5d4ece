"""A client of the websocket API that keeps every frame, and can drop its connection without closing it."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

Frame = dict[str, Any]
PATIENCE_SECONDS = 90.0
ENDINGS = ("RUN_FINISHED", "RUN_ERROR")


class Disconnected(Exception):
    """The connection has ended."""


class Client:
    """One connection. `texts` are the received frames as text, oldest first, and `frames` the same as values."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.texts: list[str] = []
        self.frames: list[Frame] = []

    @property
    def close_code(self) -> int | None:
        return self.connection.close_code

    async def send(self, frame: Frame) -> None:
        await self.send_raw(json.dumps(frame))

    async def send_raw(self, frame: str | bytes) -> None:
        """Send text or bytes as a frame. Raises `Disconnected` when the connection has ended."""
        try:
            await self.connection.send(frame)
        except ConnectionClosed as exc:
            raise Disconnected(str(exc)) from exc

    async def next(self, timeout: float = PATIENCE_SECONDS) -> Frame:
        """Return the next frame. Raises `Disconnected` if the connection has ended, `TimeoutError` if none comes."""
        try:
            # Not `wait_for`, which in Python 3.11 loses a cancellation that comes with the frame.
            async with asyncio.timeout(timeout):
                text = str(await self.connection.recv())
        except ConnectionClosed as exc:
            raise Disconnected(str(exc)) from exc
        frame: Frame = json.loads(text)
        self.texts.append(text)
        self.frames.append(frame)
        return frame

    async def until(self, wanted: Callable[[Frame], bool], timeout: float = PATIENCE_SECONDS) -> Frame:
        """Read up to and including the first frame that is `wanted`, and return it."""
        async with asyncio.timeout(timeout):
            while not wanted(frame := await self.next(timeout)):
                pass
        return frame

    async def until_end(self, run: str, timeout: float = PATIENCE_SECONDS) -> Frame:
        """Read up to and including the end of a run; an error that names no run counts as its end."""
        return await self.until(lambda frame: frame["type"] in ENDINGS and run_of(frame) in {run, ""}, timeout)

    async def ask(self, text: str, timeout: float = PATIENCE_SECONDS, **fields: Any) -> Frame:
        """Start a run, read to its end, and return the last frame."""
        frame = run_input(text, **fields)
        await self.send(frame)
        return await self.until_end(frame["runId"], timeout)

    async def attach(self, thread: str, after: tuple[str, int] | None = None) -> None:
        """Follow a thread: after event `after[1]` of run `after[0]`, or from a snapshot on."""
        position = {"after": {"runId": after[0], "seq": after[1]}} if after else {}
        await self.send({"type": "attach", "threadId": thread, "protocolVersion": "1.0", **position})

    def drop(self) -> None:
        """Abort the connection, as a broken network does."""
        self.connection.transport.abort()


@asynccontextmanager
async def connected(
    port: int, key: str, *, tenant: str = "bench", assistant: str = "support", **options: Any
) -> AsyncIterator[Client]:
    """Connect with an API key to a tenant's assistant; options are those of `websockets.connect`."""
    async with connect(
        f"ws://127.0.0.1:{port}/ws/{tenant}/{assistant}/",
        additional_headers={"Authorization": f"Bearer {key}"},
        proxy=None,
        open_timeout=PATIENCE_SECONDS,
        close_timeout=2,
        **{"max_size": None, **options},
    ) as connection:
        yield Client(connection)


def run_input(text: str, *, thread: str = "", run: str = "", message: str = "", **fields: Any) -> Frame:
    """Return a `RunAgentInput` with the message `text`, and new ids where none are given."""
    return {
        "threadId": thread or str(uuid.uuid4()),
        "runId": run or str(uuid.uuid4()),
        "protocolVersion": "1.0",
        "messages": [{"id": message or str(uuid.uuid4()), "role": "user", "content": text}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
        **fields,
    }


def run_of(frame: Frame) -> str:
    """Return the id of the run that an event belongs to, or an empty string."""
    return str(frame.get("metadata", {}).get("run", {}).get("id", ""))


def seq_of(frame: Frame) -> int:
    """Return the sequence number of an event in its run; 0 for frames that belong to no run."""
    return int(frame.get("metadata", {}).get("run", {}).get("seq", 0))


def text_of(frames: Sequence[Frame]) -> str:
    """Return the text of the answer in these frames."""
    return "".join(frame["delta"] for frame in frames if frame["type"] == "TEXT_MESSAGE_CONTENT")


def shown(frames: Sequence[Frame]) -> str:
    """Return the answer that a client displays: that of the last snapshot, and the text after it."""
    text = ""
    for frame in frames:
        if frame["type"] == "MESSAGES_SNAPSHOT":
            answers = [message for message in frame["messages"] if message["role"] == "assistant"]
            text = answers[-1]["content"] if answers else ""
        elif frame["type"] == "TEXT_MESSAGE_CONTENT":
            text += frame["delta"]
    return text
