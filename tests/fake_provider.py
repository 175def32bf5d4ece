"""A real HTTP server with the chat-completions wire format, whose responses and failures a test sets.

In a test: `with FakeProvider() as provider: provider.reply("Hello")`. As a process: `python -m tests.fake_provider
--port 8450`; its answers then follow directives in the user's message (see `demo`).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import socket
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, Self

from tests import fake_answers
from tests.fake_answers import Answer, Cut, Gate, Recorded, Script, Silence, Step, echo, reply

__all__ = ["Answer", "Cut", "FakeProvider", "Gate", "Recorded", "Silence", "reply"]


class FakeProvider:
    """Answers from the queue of scripted responses, else by `rule`, else with an echo. Runs in a thread."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[Recorded] = []
        self.listing: Any = {"object": "list", "data": [{"id": "fake", "object": "model"}]}
        self.connections = 0
        self._port = port
        self._queue: deque[Answer | Script] = deque()
        self._rule: Script = echo
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fake-provider", daemon=True)
        self._listening = threading.Event()
        self._open: set[asyncio.StreamWriter] = set()

    # Called by tests

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._port}/v1"

    def reply(self, text: str = "", **options: Any) -> None:
        """Answers the next request with text; options as in `fake_answers.reply`."""
        self.queue(reply(text, **options))

    def call(self, name: str, arguments: Any, **options: Any) -> None:
        """Answers the next request with one tool call."""
        self.queue(reply(calls=[(name, arguments)], **options))

    def calls(self, calls: Sequence[tuple[str, Any]], **options: Any) -> None:
        """Answers the next request with several tool calls at once."""
        self.queue(reply(calls=calls, **options))

    def respond(self, status: int, body: Any = None, *, headers: dict[str, str] | None = None) -> None:
        """Answers the next request with an HTTP status."""
        self.queue(fake_answers.respond(status, body, headers=headers))

    def raw(self, *steps: Step, content_type: str | None = "text/event-stream") -> None:
        """Answers the next request with exactly these bytes, pauses and accidents."""
        self.queue(fake_answers.raw(*steps, content_type=content_type))

    def stream(self, *payloads: Any, done: bool = True) -> None:
        """Answers the next request with one event for each payload."""
        self.queue(fake_answers.stream(*payloads, done=done))

    def queue(self, *answers: Answer | Script) -> None:
        self._queue.extend(answers)

    def rule(self, script: Script) -> None:
        """Answers every request that nothing was queued for."""
        self._rule = script

    def gate(self) -> Gate:
        """A gate to put between chunks: `reply(chunks=["Hel", gate, "lo"])`."""
        return Gate()

    # The server

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._listening.wait(10), "the fake provider did not start"
        return self

    def __exit__(self, *_exc: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(self.start())
        self._listening.set()
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._stop(server))
            self._loop.close()

    async def _stop(self, server: asyncio.Server) -> None:
        server.close()
        for writer in self._open:
            writer.transport.abort()
        if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(tasks, timeout=1)

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, backlog=1000, limit=2**24)
        self._port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while (request := await _read_request(reader)) is not None:
                self.requests.append(request)
                if not await _Exchange(request, reader, writer).run(self._answer(request)):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has disconnected; the request is in `requests`
        finally:
            self._open.discard(writer)
            writer.close()

    def _answer(self, request: Recorded) -> Answer:
        if request.method == "GET":
            return fake_answers.respond(200, self.listing)
        answer = self._queue.popleft() if self._queue else self._rule
        return answer if isinstance(answer, Answer) else answer(request)


async def _read_request(reader: asyncio.StreamReader) -> Recorded | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    start, *lines = head.decode("latin-1").split("\r\n")
    method, path, _version = start.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Recorded(method, path, headers, body)


class _Exchange:
    """Sends the response to one request, and notices when the client disconnects."""

    def __init__(self, request: Recorded, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.request, self.reader, self.writer = request, reader, writer
        self.due = asyncio.get_running_loop().time()

    async def run(self, answer: Answer) -> bool:
        """Send the response; return whether the connection can be used for another request."""
        watch = asyncio.create_task(self._watch())
        try:
            kept = await self._send(answer)
        finally:
            watch.cancel()
            await asyncio.wait([watch])
        if kept:
            self.writer.write(b"0\r\n\r\n")
            self.request.answered.set()
        return kept

    async def _watch(self) -> None:
        # A client sends nothing before it has its response, so only the end of the connection can be read.
        with contextlib.suppress(ConnectionError):
            await self.reader.read(1)
        self.request.disconnected.set()

    async def _send(self, answer: Answer) -> bool:
        headers = {"Transfer-Encoding": "chunked", **answer.headers}
        if answer.content_type:
            headers["Content-Type"] = answer.content_type
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.writer.write(f"HTTP/1.1 {answer.status} Scripted\r\n{lines}\r\n".encode())
        for step in answer.steps:
            if self.request.disconnected.is_set():
                return False
            if isinstance(step, bytes):
                self.writer.write(b"%x\r\n%b\r\n" % (len(step), step) if step else b"")
                if self.writer.transport.get_write_buffer_size() > 65536:
                    await self.writer.drain()
            elif isinstance(step, Cut):
                await self.writer.drain()
                self.writer.close()
                return False
            else:
                await self.writer.drain()
                await self._pause(step)
        await self.writer.drain()
        return True

    async def _pause(self, step: float | Gate | Silence) -> None:
        if isinstance(step, float):  # paced by the clock, so that a late wake-up does not slow the stream
            self.due += step
            await asyncio.sleep(max(0.0, self.due - asyncio.get_running_loop().time()))
            return
        if isinstance(step, Gate):
            step.reached.set()
        opened = step.opened if isinstance(step, Gate) else threading.Event()
        while not opened.is_set() and not self.request.disconnected.is_set():
            await asyncio.sleep(0.002)


MARKDOWN = (
    "# Report\n\nA *short* list:\n\n- one\n- two\n\n```python\nprint('hello')\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)


def demo(request: Recorded) -> Answer:
    """Answer as the directives in the last message say.

    `[tokens=200 rate=50]` streams that many tokens, at that many a second (flat out without a rate);
    `[call NAME {"a": 1}]`, possibly several, calls tools; `[markdown]` gives Markdown; a tool's result is quoted.
    """
    text = request.last_text
    if request.messages and request.messages[-1]["role"] == "tool":
        return reply(f"The tool says: {text}")(request)
    if found := re.search(r"\[tokens=(\d+)(?: rate=(\d+))?\]", text):
        delay = 1 / int(found[2]) if found[2] else 0.0
        return reply(chunks=[f"w{number} " for number in range(int(found[1]))], delay=delay)(request)
    if wanted := re.findall(r"\[call ([\w-]+) (\{.*?\})\]", text):
        return reply(calls=[(name, json.loads(arguments)) for name, arguments in wanted])(request)
    if "[markdown]" in text:
        return reply(MARKDOWN, delay=0.01)(request)
    return echo(request)


SCRIPTS: dict[str, Script] = {"demo": demo, "echo": echo}


async def _forever(port: int, script: Script) -> None:
    provider = FakeProvider(port)
    provider.rule(script)
    server = await provider.start()
    print(provider.url, flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8450)
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="demo")
    options = parser.parse_args()
    asyncio.run(_forever(options.port, SCRIPTS[options.script]))


if __name__ == "__main__":
    main()
