"""Talks to an ASGI application in the test's own process, from code that is not async."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from asgiref.testing import ApplicationCommunicator

from assistant.services.db.threads import close_connections
from assistant.services.runs.manager import get_runs
from assistant.services.warm_up import skip_warm_up

T = TypeVar("T")
Event = dict[str, Any]

# A test whose tool or model hangs fails after this time.
PATIENCE_SECONDS = 120.0
_communicator: Any = ApplicationCommunicator  # without types
HOST = "testserver"
ORIGIN = f"https://{HOST}"


class NotAdmitted(Exception):
    """The server refused the caller: `status` is that of the handshake or of the response."""

    def __init__(self, status: int, body: str = "") -> None:
        super().__init__(f"The server answered {status}. {body}".strip())
        self.status = status


class LoopThread:
    """An event loop in a thread of its own, in which the application and its runs live until `close`."""

    def __init__(self) -> None:
        skip_warm_up()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat-tester", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and return its value. Raises `TimeoutError` after `PATIENCE_SECONDS`."""
        return asyncio.run_coroutine_threadsafe(_bounded(work), self._loop).result()

    def close(self) -> None:
        """End the runs and the loop, when what they do in the database is done."""
        self.run(_end_runs())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _bounded(work: Coroutine[Any, Any, T]) -> T:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await work


async def _end_runs() -> None:
    await get_runs().stop()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    # A call that has begun is completed in its thread although its task was cancelled.
    await asyncio.to_thread(close_connections)


def headers_of(values: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers in the form of ASGI."""
    return [(name.lower().encode(), value.encode()) for name, value in {"host": HOST, **values}.items()]


class WebSocket:
    """A websocket connection. Raises `NotAdmitted` if the handshake is refused; call `open` first."""

    def __init__(self, application: Any, path: str, headers: dict[str, str]) -> None:
        scope = {
            "type": "websocket", "path": path, "raw_path": path.encode(), "query_string": b"", "scheme": "wss",
            "headers": headers_of(headers), "subprotocols": [], "client": ["127.0.0.1", 1], "server": [HOST, 443],
        }  # fmt: skip
        self._application = _communicator(application, scope)

    async def open(self) -> None:
        await self._application.send_input({"type": "websocket.connect"})
        answer = await self._application.receive_output(PATIENCE_SECONDS)
        if answer["type"] != "websocket.accept":
            # What servers make of a close before the handshake is accepted.
            raise NotAdmitted(403)

    async def send(self, frame: Event) -> None:
        await self._application.send_input({"type": "websocket.receive", "text": json.dumps(frame)})

    async def receive(self) -> Event:
        message = await self._application.receive_output(PATIENCE_SECONDS)
        if message["type"] == "websocket.close":
            raise ConnectionError(f"The server closed the connection with {message.get('code')}.")
        event: Event = json.loads(message["text"])
        return event

    async def close(self) -> None:
        await self._application.send_input({"type": "websocket.disconnect", "code": 1000})
        await self._application.wait(PATIENCE_SECONDS)


async def post_for_events(application: Any, path: str, headers: dict[str, str], body: Event) -> list[Event]:
    """Post JSON, and return the server-sent events of the response. Raises `NotAdmitted` for any status but 200."""
    content = json.dumps(body).encode()
    given = {"content-type": "application/json", "content-length": str(len(content)), **headers}
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "scheme": "https", "http_version": "1.1", "headers": headers_of(given), "client": ["127.0.0.1", 1],
        "server": [HOST, 443],
    }  # fmt: skip
    request = _communicator(application, scope)
    await request.send_input({"type": "http.request", "body": content})
    start = await request.receive_output(PATIENCE_SECONDS)
    received, is_open = b"", True
    while is_open:
        part = await request.receive_output(PATIENCE_SECONDS)
        received += part.get("body", b"")
        is_open = part.get("more_body", False)
    await request.wait(PATIENCE_SECONDS)
    text = received.decode()
    if start["status"] != 200:
        raise NotAdmitted(start["status"], text[:500])
    return [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")]
