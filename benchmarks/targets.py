"""The servers that are compared: how each is started, and how a client talks to it."""

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
from urllib.parse import urlencode, urlsplit

from benchmarks.load_client import HttpClient, LoadClient, WebSocketClient
from benchmarks.peers import HERE, python_of
from benchmarks.processes import Process, started

PRODUCT, NAIVE, CHAINLIT, RELAY, PROVIDER = (
    "the product",
    "naive consumer",
    "Chainlit",
    "bare relay",
    "the provider directly",
)
# The options of docs/production.md, for every server that uvicorn runs.
UVICORN = (
    "uvicorn", "--host", "127.0.0.1", "--ws", "websockets-sansio", "--ws-max-size", "327680",
    "--ws-per-message-deflate", "false", "--ws-ping-interval", "45",
)  # fmt: skip
# The models can be imported only once Django is set up.
BUILD = "import django; django.setup(); from benchmarks.site import main; main()"
QUIET = ("--no-access-log", "--log-level", "warning")


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class Target:
    """A running server. The last message of each of its answers matches `end`."""

    name: str
    port: int
    process: Process | None
    end: re.Pattern[bytes] = re.compile(rb"\[DONE\]")

    def cpu(self) -> float:
        """Return the seconds of CPU time that the server process has used."""
        assert self.process is not None
        return self.process.cpu()

    async def open(self, number: int) -> LoadClient:
        """Connect the client with that number, counted from 0."""
        return await WebSocketClient.open(f"ws://127.0.0.1:{self.port}/ws/")

    def send(self, client: LoadClient, prompt: str) -> None:
        """Send a prompt, without waiting for the answer."""
        assert isinstance(client, WebSocketClient)
        client.send(prompt)

    async def ask(self, client: LoadClient, prompt: str) -> None:
        """Send a prompt and wait for the end of its answer."""
        self.send(client, prompt)
        await client.until(self.end)


class Naive(Target):
    """`benchmarks.servers.naive`."""

    def send(self, client: LoadClient, prompt: str) -> None:
        assert isinstance(client, WebSocketClient)
        client.send(json.dumps({"text": prompt}))


class ChainlitClient(WebSocketClient):
    """Socket.IO over a websocket, which answers each ping "2" with a "3"."""

    def _take(self, payload: bytes) -> None:
        if payload == b"2":
            self.send("3")
        elif not payload.startswith(b'42["update_message"'):  # repeats the whole text at the end
            super()._take(payload)


class Chainlit(Target):
    """`benchmarks.servers.chainlit_app`, run by Chainlit's own command."""

    async def open(self, number: int) -> LoadClient:
        query = urlencode({"EIO": "4", "transport": "websocket"})
        client = await ChainlitClient.open(f"ws://127.0.0.1:{self.port}/ws/socket.io/?{query}")
        client.send("40" + json.dumps({"sessionId": str(uuid.uuid4()), "clientType": "webapp", "userEnv": "{}"}))
        await client.until(re.compile(rb"^40"))
        client.send('42["connection_successful"]')
        await client.until(self.end)
        return client

    def send(self, client: LoadClient, prompt: str) -> None:
        assert isinstance(client, WebSocketClient)
        now = datetime.now(UTC).isoformat()
        message = {"id": str(uuid.uuid4()), "name": "user", "type": "user_message", "output": prompt, "createdAt": now}
        client.send("42" + json.dumps(["client_message", {"message": message, "fileReferences": []}]))


@dataclass(slots=True)
class Direct(Target):
    """The scripted provider itself, with no server between it and the client."""

    async def open(self, number: int) -> LoadClient:
        return await HttpClient.open(f"http://127.0.0.1:{self.port}")

    def send(self, client: LoadClient, prompt: str) -> None:
        assert isinstance(client, HttpClient)
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": prompt}]}
        client.post("/v1/chat/completions", json.dumps(body).encode())


@dataclass(slots=True)
class Product(Target):
    """The product. Client `n` connects with the API key of member `n`, modulo the number of members."""

    keys: Sequence[str] = ()
    end: re.Pattern[bytes] = re.compile(rb'^\{"type":"RUN_(?:FINISHED|ERROR)"')
    threads: dict[LoadClient, str] = field(default_factory=dict)

    async def open(self, number: int) -> LoadClient:
        headers = {"Authorization": f"Bearer {self.keys[number % len(self.keys)]}"}
        return await WebSocketClient.open(f"ws://127.0.0.1:{self.port}/ws/bench/support/", headers)

    async def sign_in(self, session: str) -> LoadClient:
        """Connect with a session cookie, as a browser does."""
        headers = {"Cookie": f"sessionid={session}", "Origin": f"http://127.0.0.1:{self.port}"}
        return await WebSocketClient.open(f"ws://127.0.0.1:{self.port}/ws/bench/support/", headers)

    def send(self, client: LoadClient, prompt: str, *, thread: str = "") -> None:
        """Send a prompt, in a new thread unless one is given."""
        assert isinstance(client, WebSocketClient)
        self.threads[client] = thread or str(uuid.uuid4())
        client.send(run_input(self.threads[client], prompt))


def run_input(thread: str, prompt: str) -> str:
    """Return the websocket frame of a `RunAgentInput`."""
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
    """Serve an ASGI application until the end of the block; yields its port and process."""
    port = free_port()
    command = [sys.executable, "-m", *UVICORN, "--port", str(port), *QUIET, application]
    with started(command, env) as process:
        process.wait_for(f"http://127.0.0.1:{port}/healthz")
        yield port, process


def direct(provider_url: str) -> Direct:
    """Return the scripted provider as a target."""
    return Direct(PROVIDER, urlsplit(provider_url).port or 80, None)


@contextmanager
def relay(provider_url: str) -> Iterator[Target]:
    """Serve `benchmarks.servers.relay` until the end of the block."""
    with uvicorn("benchmarks.servers.relay:application", _environment(provider_url)) as (port, process):
        yield Target(RELAY, port, process)


@contextmanager
def naive(provider_url: str) -> Iterator[Target]:
    """Serve `benchmarks.servers.naive` until the end of the block."""
    with uvicorn("benchmarks.servers.naive:application", _environment(provider_url)) as (port, process):
        yield Naive(NAIVE, port, process, re.compile(rb'"end"'))


@contextmanager
def chainlit(provider_url: str) -> Iterator[Target]:
    """Serve `benchmarks.servers.chainlit_app` until the end of the block."""
    python, port = python_of("chainlit"), free_port()
    command = [python, "-m", "chainlit", "run", str(HERE / "servers" / "chainlit_app.py"), "--headless"]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        env = {**_environment(provider_url), "CHAINLIT_APP_ROOT": folder}
        with started([*command, "--host", "127.0.0.1", "--port", str(port)], env) as process:
            process.wait_for(f"http://127.0.0.1:{port}/")
            yield Chainlit(CHAINLIT, port, process, re.compile(rb'^42\["task_end"'))


@dataclass(frozen=True, slots=True)
class Site:
    """A database with the rows of `benchmarks.site`, and the environment of the servers that use it."""

    env: Mapping[str, str]
    keys: Sequence[str]
    sessions: Sequence[str]
    long_threads: Mapping[int, str]


@contextmanager
def site(provider_url: str, database_url: str = "", redis_url: str = "", *, visitors: int = 0) -> Iterator[Site]:
    """Create the rows of `benchmarks.site`.

    Args:
        provider_url: the base URL of the scripted provider.
        database_url: an empty database; a new SQLite file without it.
        redis_url: the Redis of the event log; the log is in memory without it.
        visitors: how many members to add to those with an API key.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        env = {
            **_environment(provider_url),
            "ENV_FILE": os.devnull,
            "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
            "SECRET_KEY": "of-a-benchmark-and-therefore-no-secret-0123456789-and-more",
            "ASSISTANT_FIELD_ENCRYPTION_KEYS": "",
            "INSECURE_HTTP": "true",
            # What many runs at once cost is measured, not that they wait.
            "ASSISTANT_TENANT_LIMITS": "runs=0",
            "ASSISTANT_MEMBER_LIMITS": "runs=0",
            "ASSISTANT_MAX_RUNS": "0",
            "DEBUG": "false",
            "DATABASE_URL": database_url or f"sqlite:///{Path(folder) / 'db.sqlite3'}",
            "REDIS_URL": redis_url,
        }
        with started([sys.executable, "-c", BUILD, str(visitors)], env) as builder:
            made = json.loads(builder.read_line())
        threads = {int(size): thread for size, thread in made["threads"].items()}
        yield Site(env, made["keys"], made["sessions"], threads)


@contextmanager
def product(made: Site, name: str = PRODUCT, env: Mapping[str, str] | None = None) -> Iterator[Product]:
    """Serve the product on a site until the end of the block; `env` adds to its environment."""
    with uvicorn("config.asgi:application", {**made.env, **(env or {})}) as (port, process):
        yield Product(name, port, process, keys=made.keys)


async def close_all(clients: Sequence[LoadClient]) -> None:
    """Close connections and wait until they are closed."""
    for client in clients:
        client.close()
    await asyncio.gather(*(client.closed for client in clients))
