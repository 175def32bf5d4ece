"""The servers that are compared, each with how a client speaks to it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.peers import HERE, python_of
from benchmarks.processes import Process, started
from benchmarks.wire import HttpWire, Socket, Wire

# As docs/production.md serves the product, and the same for everybody.
UVICORN = (
    "uvicorn", "--host", "127.0.0.1", "--ws", "websockets-sansio", "--ws-per-message-deflate", "false",
    "--ws-ping-interval", "45",
)  # fmt: skip
# The models can be imported only once Django is set up.
BUILD = "import django; django.setup(); from benchmarks.site import main; main()"
QUIET = ("--no-access-log", "--log-level", "warning")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class Way:
    """A running server; `end` is found in a client's last message of an answer."""

    name: str
    port: int
    process: Process | None
    end: re.Pattern[bytes] = re.compile(rb"\[DONE\]")

    def cpu(self) -> float:
        """Seconds of CPU that the server has used."""
        assert self.process is not None
        return self.process.cpu()

    async def open(self, number: int) -> Wire:
        """Connect the client of that number."""
        return await Socket.open(f"ws://127.0.0.1:{self.port}/ws/")

    def say(self, wire: Wire, prompt: str) -> None:
        """Send a question."""
        assert isinstance(wire, Socket)
        wire.send(prompt)

    async def ask(self, wire: Wire, prompt: str) -> None:
        """Send a question and wait for the end of its answer."""
        self.say(wire, prompt)
        await wire.until(self.end)


class Naive(Way):
    def say(self, wire: Wire, prompt: str) -> None:
        assert isinstance(wire, Socket)
        wire.send(json.dumps({"text": prompt}))


class ChainlitSocket(Socket):
    """Socket.IO over a websocket; a ping is "2" and wants a "3"."""

    def _take(self, payload: bytes) -> None:
        if payload == b"2":
            self.send("3")
        elif not payload.startswith(b'42["update_message"'):  # the whole text once more
            super()._take(payload)


class Chainlit(Way):
    async def open(self, number: int) -> Wire:
        query = urlencode({"EIO": "4", "transport": "websocket"})
        wire = await ChainlitSocket.open(f"ws://127.0.0.1:{self.port}/ws/socket.io/?{query}")
        wire.send("40" + json.dumps({"sessionId": str(uuid.uuid4()), "clientType": "webapp", "userEnv": "{}"}))
        await wire.until(re.compile(rb"^40"))
        wire.send('42["connection_successful"]')
        await wire.until(self.end)
        return wire

    def say(self, wire: Wire, prompt: str) -> None:
        assert isinstance(wire, Socket)
        now = datetime.now(UTC).isoformat()
        message = {"id": str(uuid.uuid4()), "name": "user", "type": "user_message", "output": prompt, "createdAt": now}
        wire.send("42" + json.dumps(["client_message", {"message": message, "fileReferences": []}]))


@dataclass(slots=True)
class Direct(Way):
    """The provider without anything between."""

    async def open(self, number: int) -> Wire:
        return await HttpWire.open(f"http://127.0.0.1:{self.port}")

    def say(self, wire: Wire, prompt: str) -> None:
        assert isinstance(wire, HttpWire)
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": prompt}]}
        wire.post("/v1/chat/completions", json.dumps(body).encode())


@dataclass(slots=True)
class Product(Way):
    """The product; client `n` is one of the members, each with an API key."""

    keys: Sequence[str] = ()
    end: re.Pattern[bytes] = re.compile(rb'^\{"type":"RUN_(?:FINISHED|ERROR)"')
    threads: dict[Wire, str] = field(default_factory=dict)

    async def open(self, number: int) -> Wire:
        headers = {"Authorization": f"Bearer {self.keys[number % len(self.keys)]}"}
        return await Socket.open(f"ws://127.0.0.1:{self.port}/ws/bench/support/", headers)

    async def sign_in(self, session: str) -> Wire:
        """Connect as a browser does."""
        headers = {"Cookie": f"sessionid={session}", "Origin": f"http://127.0.0.1:{self.port}"}
        return await Socket.open(f"ws://127.0.0.1:{self.port}/ws/bench/support/", headers)

    def say(self, wire: Wire, prompt: str, *, thread: str = "") -> None:
        """Send a question, in a thread of its own unless one is named."""
        assert isinstance(wire, Socket)
        self.threads[wire] = thread or str(uuid.uuid4())
        wire.send(run_input(self.threads[wire], prompt))


def run_input(thread: str, prompt: str) -> str:
    """A `RunAgentInput` as a frame."""
    return json.dumps(
        {
            "threadId": thread,
            "runId": str(uuid.uuid4()),
            "protocolVersion": "1.0",
            "messages": [{"id": str(uuid.uuid4()), "role": "user", "content": prompt}],
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
        }
    )


def _environment(provider_url: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": provider_url, "OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"}


@contextmanager
def uvicorn(application: str, env: Mapping[str, str]) -> Iterator[tuple[int, Process]]:
    """Serve an ASGI application until the end of the block."""
    port = free_port()
    command = [sys.executable, "-m", *UVICORN, "--port", str(port), *QUIET, application]
    with started(command, env) as process:
        process.wait_for(f"http://127.0.0.1:{port}/healthz")
        yield port, process


@contextmanager
def relay(provider_url: str) -> Iterator[Way]:
    with uvicorn("benchmarks.servers.relay:application", _environment(provider_url)) as (port, process):
        yield Way("bare relay", port, process)


@contextmanager
def naive(provider_url: str) -> Iterator[Way]:
    with uvicorn("benchmarks.servers.naive:application", _environment(provider_url)) as (port, process):
        yield Naive("naive consumer", port, process, re.compile(rb'"end"'))


@contextmanager
def chainlit(provider_url: str) -> Iterator[Way]:
    python, port = python_of("chainlit"), free_port()
    command = [python, "-m", "chainlit", "run", str(HERE / "servers" / "chainlit_app.py"), "--headless"]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        env = {**_environment(provider_url), "CHAINLIT_APP_ROOT": folder}
        with started([*command, "--host", "127.0.0.1", "--port", str(port)], env) as process:
            process.wait_for(f"http://127.0.0.1:{port}/")
            yield Chainlit("Chainlit", port, process, re.compile(rb'^42\["task_end"'))


@dataclass(frozen=True, slots=True)
class Site:
    """A database with the rows of `benchmarks.site`, and the environment of servers on it."""

    env: Mapping[str, str]
    keys: Sequence[str]
    sessions: Sequence[str]
    long_threads: Mapping[int, str]


@contextmanager
def site(provider_url: str, database_url: str = "", redis_url: str = "", *, visitors: int = 0) -> Iterator[Site]:
    """Make the rows, in a SQLite file of its own unless another empty database is given; `visitors`, more members."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        env = {
            **_environment(provider_url),
            "ENV_FILE": os.devnull,
            "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
            "SECRET_KEY": "of-a-benchmark-and-therefore-no-secret-0123456789-and-more",
            "FIELD_ENCRYPTION_KEYS": "",
            "INSECURE_HTTP": "true",
            "DEBUG": "false",
            "DATABASE_URL": database_url or f"sqlite:///{Path(folder) / 'db.sqlite3'}",
            "REDIS_URL": redis_url,
        }
        with started([sys.executable, "-c", BUILD, str(visitors)], env) as builder:
            made = json.loads(builder.line())
        threads = {int(size): thread for size, thread in made["threads"].items()}
        yield Site(env, made["keys"], made["sessions"], threads)


@contextmanager
def product(made: Site, name: str = "the product") -> Iterator[Product]:
    """A server process on a site."""
    with uvicorn("config.asgi:application", made.env) as (port, process):
        yield Product(name, port, process, keys=made.keys)


async def close_all(wires: Sequence[Wire]) -> None:
    """Close connections and wait until they are."""
    for wire in wires:
        wire.close()
    await asyncio.gather(*(wire.closed for wire in wires))
