"""A websocket client for tests: signs in, sends frames, and collects events up to one that a test waits for."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from tests.agui import ENDINGS, Frame, check_run, run_of

PATIENCE = 15.0


def session_cookie(user: User) -> str:
    """Return the `Cookie` header of a browser in which `user` is signed in."""
    client = Client()
    client.force_login(user)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def run_input(text: str, *, thread: str = "", run: str = "", **fields: Any) -> Frame:
    """Return a `RunAgentInput` with the message `text`; ids that are not given are generated."""
    message = {"id": str(uuid.uuid4()), "role": "user", "content": text}
    return {
        "threadId": thread or str(uuid.uuid4()),
        "runId": run or str(uuid.uuid4()),
        "protocolVersion": "1.0",
        "messages": [message],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
        **fields,
    }


class Socket:
    """One open connection and every frame that it received, oldest first."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.frames: list[Frame] = []

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the handshake's response."""
        assert self._connection.response is not None
        return self._connection.response.headers

    @property
    def close_code(self) -> int | None:
        return self._connection.close_code

    @property
    def close_reason(self) -> str:
        return self._connection.close_reason or ""

    async def send(self, frame: Frame | str | bytes) -> None:
        """Send a frame: a dictionary as JSON, text and bytes unchanged."""
        await self._connection.send(json.dumps(frame) if isinstance(frame, dict) else frame)

    async def send_fragments(self, texts: Sequence[str]) -> None:
        """Send one message in several frames."""
        await self._connection.send(texts)

    async def next(self, timeout: float = PATIENCE) -> Frame:
        """Return the next frame."""
        text = await asyncio.wait_for(self._connection.recv(), timeout)
        frame: Frame = json.loads(text)
        self.frames.append(frame)
        return frame

    async def until(self, wanted: Callable[[Frame], bool], timeout: float = PATIENCE) -> list[Frame]:
        """Return the frames from here on, up to and including the first that is `wanted`.

        Raises `AssertionError` with the received frames if there is none within `timeout` seconds.
        """
        first = len(self.frames)
        try:
            async with asyncio.timeout(timeout):
                while not wanted(await self.next(timeout)):
                    pass
        except (TimeoutError, ConnectionClosed) as exc:
            raise AssertionError(f"{exc!r} while waiting; came: {self.frames[first:]}") from exc
        return self.frames[first:]

    async def until_type(self, *kinds: str, timeout: float = PATIENCE) -> list[Frame]:
        """Return the frames up to and including the first of one of these types."""
        return await self.until(lambda frame: frame["type"] in kinds, timeout)

    async def until_custom(self, name: str, timeout: float = PATIENCE) -> Frame:
        """Return the next CUSTOM event with that name."""
        return (await self.until(lambda frame: frame["type"] == "CUSTOM" and frame["name"] == name, timeout))[-1]

    async def until_end(self, run: str = "", timeout: float = PATIENCE) -> list[Frame]:
        """Return the frames up to and including the end of a run: of any run, unless one is named."""
        return await self.until(
            lambda frame: frame["type"] in ENDINGS and (not run or run_of(frame) in {run, ""}), timeout
        )

    async def ask(self, text: str, *, timeout: float = PATIENCE, **fields: Any) -> list[Frame]:
        """Start a run and return its events to the end, after `check_run`."""
        frame = run_input(text, **fields)
        await self.send(frame)
        frames = await self.until_end(frame["runId"], timeout)
        check_run([event for event in frames if run_of(event) == frame["runId"]])
        return frames

    async def start(self, text: str, **fields: Any) -> Frame:
        """Start a run and return its input once the server has said RUN_STARTED."""
        frame = run_input(text, **fields)
        await self.send(frame)
        await self.until_type("RUN_STARTED")
        return frame

    async def attach(self, thread: str, *, after: tuple[str, int] | None = None, **fields: Any) -> None:
        """Follow a thread, from event number `after[1]` of run `after[0]` on, or from a snapshot."""
        position = {"after": {"runId": after[0], "seq": after[1]}} if after else {}
        await self.send({"type": "attach", "threadId": thread, **position, **fields})

    async def cancel(self, run: str) -> None:
        await self.send({"type": "cancel", "runId": run})

    async def closed(self, timeout: float = PATIENCE) -> int:
        """Wait until the server closes the connection; return the close code."""
        await asyncio.wait_for(self._connection.wait_closed(), timeout)
        return int(self._connection.close_code or 0)

    async def drop(self) -> None:
        """Disconnect without a close frame, as a broken network does."""
        self._connection.transport.abort()
        await self._connection.wait_closed()


@asynccontextmanager
async def open_socket(
    base_url: str,
    *,
    user: User | None = None,
    key: str = "",
    subprotocols: Sequence[str] = (),
    tenant: str = "acme",
    assistant: str = "support",
    origin: str | None = None,
    headers: dict[str, str] | None = None,
    query: str = "",
) -> AsyncIterator[Socket]:
    """Connect to `/ws/<tenant>/<assistant>/` as a signed-in user (with the site's own origin) or with an API key.

    Raises:
        websockets.exceptions.InvalidStatus: the handshake was refused; `exc.response.status_code` says how.
    """
    sent = dict(headers or {})
    if user is not None:
        sent["Cookie"] = await sync_to_async(session_cookie)(user)
        origin = origin or base_url
    if key:
        sent["Authorization"] = f"Bearer {key}"
    async with connect(
        f"{base_url.replace('http', 'ws', 1)}/ws/{tenant}/{assistant}/{query}",
        additional_headers=sent,
        origin=Origin(origin) if origin else None,
        subprotocols=[Subprotocol(name) for name in subprotocols] or None,
        proxy=None,
        max_size=None,
    ) as connection:
        yield Socket(connection)
