"""New databases with the checks' rows, and server processes on them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import psycopg

from assistant.core.values.frame_sizes import HTTP_PROTOCOL
from benchmarks.processes import START_SECONDS, Process, started
from benchmarks.resilience.services import REDIS_DATABASES, Services
from benchmarks.targets import QUIET, UVICORN, free_port

# The models can be imported only once Django is set up.
BUILD = "import django; django.setup(); from benchmarks.resilience.site import main; main()"
TEMPLATE = "template_site"
SQLITE, POSTGRES = "sqlite", "postgres"


@dataclass(frozen=True, slots=True)
class Database:
    """A database, read and changed by SQL without the product's code."""

    url: str

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query, whose placeholders are `%s`."""
        parts = urlsplit(self.url)
        if parts.scheme == "sqlite":
            with closing(sqlite3.connect(parts.path.removeprefix("/"), timeout=60)) as connection:
                return connection.execute(query.replace("%s", "?"), values).fetchall()
        with psycopg.connect(self.url, autocommit=True) as server:
            return server.execute(query, values).fetchall()

    def run(self, statement: str, *values: object) -> None:
        """Run a statement that changes rows."""
        parts = urlsplit(self.url)
        if parts.scheme == "sqlite":
            with closing(sqlite3.connect(parts.path.removeprefix("/"), timeout=60)) as connection, connection:
                connection.execute(statement.replace("%s", "?"), values)
            return
        with psycopg.connect(self.url, autocommit=True) as server:
            server.execute(statement, values)


@dataclass(frozen=True, slots=True)
class Site:
    """A database with rows, and the environment of its servers; `operator` is a superuser's session."""

    kind: str
    env: Mapping[str, str]
    keys: Sequence[str]
    sessions: Sequence[str]
    operator: str
    database: Database

    def resumed_runs(self) -> int:
        """Return how many runs another process has taken over: they go on there, and end well."""
        length = "jsonb_array_length" if self.kind == POSTGRES else "json_array_length"
        return len(self.database.rows(f"SELECT 1 FROM assistant_run WHERE {length}(resumes) > 0"))


@dataclass(slots=True)
class Server:
    """A server process."""

    port: int
    process: Process
    _stack: ExitStack = field(repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def log(self) -> str:
        """Return what it has printed."""
        return self.process.log.read_text(errors="replace") if self.process.log.exists() else ""

    def kill(self) -> None:
        """End it with SIGKILL."""
        self.process.popen.kill()
        self.process.popen.wait(30)

    def terminate(self) -> None:
        """Send SIGTERM, as a service manager does."""
        self.process.popen.terminate()


@contextmanager
def open_site(services: Services, kind: str, provider_url: str, env: Mapping[str, str]) -> Iterator[Site]:
    """Copy a database with the rows of `site.py`, which is built once in a run."""
    number = services.number()
    made = services.templates.get(kind) or _build(services, kind)
    services.templates[kind] = made
    if kind == SQLITE:
        path = services.folder / f"site-{number}.sqlite3"
        shutil.copyfile(services.folder / f"{TEMPLATE}.sqlite3", path)
        url, redis_url = f"sqlite:///{path}", ""
    else:
        name = f"site_{number}"
        services.postgres.run(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        url, redis_url = services.postgres.url(name), services.redis.url(number % REDIS_DATABASES)
    whole = {**_environment(url, redis_url, provider_url), **env}
    yield Site(kind, whole, made["keys"], made["sessions"], made["operator"][0], Database(url))


def _build(services: Services, kind: str) -> dict[str, list[str]]:
    if kind == SQLITE:
        path = services.folder / f"{TEMPLATE}.sqlite3"
        url = f"sqlite:///{path}"
    else:
        services.postgres.run(f"CREATE DATABASE {TEMPLATE}")
        url = services.postgres.url(TEMPLATE)
    with started([sys.executable, "-c", BUILD], _environment(url, "", "http://127.0.0.1:9/v1")) as builder:
        made: dict[str, list[str]] = json.loads(builder.read_line())
        builder.popen.wait(60)
    if kind == SQLITE:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return made


def _environment(database_url: str, redis_url: str, provider_url: str) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": provider_url,
        "OPENAI_API_KEY": "k",
        "OPENAI_MODEL": "m",
        "ENV_FILE": os.devnull,
        "DJANGO_SETTINGS_MODULE": "benchmarks.resilience.settings",
        "SECRET_KEY": "of-a-benchmark-and-therefore-no-secret-0123456789-and-more",
        "ASSISTANT_FIELD_ENCRYPTION_KEYS": "",
        "INSECURE_HTTP": "true",
        "DEBUG": "false",
        "LOG_LEVEL": "WARNING",
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
    }


@contextmanager
def serve(
    site: Site, *, port: int = 0, env: Mapping[str, str] | None = None, options: Sequence[str] = ()
) -> Iterator[Server]:
    """Run the site under uvicorn until the end of the block; `options` override those of its command."""
    port = port or free_port()
    environment = {**site.env, **(env or {})}
    application = "benchmarks.resilience.planted:application" if "PLANTED" in environment else "config.asgi:application"
    bounds = ("--http", HTTP_PROTOCOL)
    command = [sys.executable, "-m", *UVICORN, *bounds, "--port", str(port), *QUIET, *options, application]
    with ExitStack() as stack:
        process = stack.enter_context(started(command, environment))
        process.wait_for(f"http://127.0.0.1:{port}/healthz")
        server = Server(port, process, stack)
        try:
            yield server
        except Exception as exc:
            exc.add_note(f"The end of the log of the server on port {port}:\n{server.log()[-3000:]}")
            raise


@dataclass(frozen=True, slots=True)
class ForkedServer:
    """A server process that was forked."""

    port: int
    pid: int

    def kill(self) -> None:
        """End it with SIGKILL."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class ForkServer:
    """Forks server processes on a site."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._lock = asyncio.Lock()

    async def fork(self) -> ForkedServer:
        """Return a new server process that accepts connections."""
        # One at a time: a port stays free until its process listens, and could be given to another.
        async with self._lock:
            port = free_port()
            self._process.write_line(str(port))
            child = ForkedServer(port, int(await asyncio.to_thread(self._process.read_line)))
            async with asyncio.timeout(START_SECONDS):
                while not await _listens(port):
                    await asyncio.sleep(0.02)
        return child

    def log(self) -> str:
        return self._process.log.read_text(errors="replace")


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@contextmanager
def open_fork_server(site: Site) -> Iterator[ForkServer]:
    """Run a fork server until the end of the block; its processes end with it."""
    with started([sys.executable, "-m", "benchmarks.resilience.fork_server"], site.env) as process:
        yield ForkServer(process)
