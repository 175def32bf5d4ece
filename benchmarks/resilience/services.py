"""A PostgreSQL and a Redis for one run, on free ports and in a temporary folder, which checks may stop and start."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import psycopg
import redis

from benchmarks.targets import free_port

START_SECONDS = 60.0
REDIS_DATABASES = 512


class Missing(Exception):
    """A required program is not installed."""


def program(name: str) -> str:
    """Return the path of a program; those of PostgreSQL are often not on PATH. Raises `Missing`."""
    places = [shutil.which(name), *sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), reverse=True)]
    place = next(filter(None, places), None)
    if place is None:
        raise Missing(f"{name} is not installed. On Debian or Ubuntu: apt-get install postgresql redis-server")
    return place


def _wait(is_there: Callable[[], object], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            is_there()
            return
        except (psycopg.Error, redis.RedisError, OSError):
            time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} does not answer:\n{log.read_text(errors='replace')[-2000:]}")


class Postgres:
    """A cluster with PostgreSQL's default settings and more connections; `env` adds to its environment."""

    def __init__(self, folder: Path, env: Mapping[str, str] | None = None) -> None:
        self._env = {**os.environ, **(env or {})}
        self._data = folder / "postgres"
        self._log = folder / "postgres.log"
        # PostgreSQL refuses to run as root.
        self._user = next((name for name in ("postgres", "nobody") if _exists(name)), None) if not os.getuid() else None
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._data.mkdir()
        if self._user:
            shutil.chown(self._data, self._user)
        initdb = [program("initdb"), "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run(initdb, check=True, user=self._user, cwd="/", stdout=subprocess.DEVNULL)

    def url(self, database: str = "postgres") -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start and wait until it accepts connections."""
        command = [program("postgres"), "-D", str(self._data), "-p", str(self.port), "-k", ""]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, user=self._user, cwd="/", env=self._env, stdout=log, stderr=log)
        _wait(lambda: psycopg.connect(self.url()).close(), self._process, self._log)

    def stop(self) -> None:
        """Stop as `systemctl restart postgresql` does: statements in flight fail, connections are closed."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(60)
            self._process = None

    def run(self, statement: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


class Redis:
    """A server that stores nothing on disk, as docs/production.md configures it: a restart empties it."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "redis"
        self._data.mkdir()
        self._log = folder / "redis.log"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, number: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{number}"

    def start(self) -> None:
        """Start and wait until it answers."""
        command = [program("redis-server"), "--port", str(self.port), "--dir", str(self._data), "--save", ""]
        command += ["--appendonly", "no", "--databases", str(REDIS_DATABASES), "--bind", "127.0.0.1"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        with redis.Redis.from_url(self.url()) as client:
            _wait(client.ping, self._process, self._log)

    def stop(self) -> None:
        """Stop as `systemctl restart redis` does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(60)
            self._process = None


class Services:
    """The services that all checks of a run share, each started on first use and stopped at the end of the block.

    Args:
        postgres_env: additions to the environment of PostgreSQL.
    """

    def __init__(self, postgres_env: Mapping[str, str] | None = None) -> None:
        self._postgres_env = postgres_env
        self._stack = ExitStack()
        self._numbers = itertools.count(1)
        self._postgres: Postgres | None = None
        self._redis: Redis | None = None
        self.templates: dict[str, dict[str, list[str]]] = {}

    def __enter__(self) -> Self:
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="resilience-")))
        self.folder.chmod(0o755)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def number(self) -> int:
        """Return a number that is unique in this run."""
        return next(self._numbers)

    @property
    def postgres(self) -> Postgres:
        if self._postgres is None:
            self._postgres = Postgres(self.folder, self._postgres_env)
            self._stack.callback(self._postgres.stop)
            self._postgres.start()
        return self._postgres

    @property
    def redis(self) -> Redis:
        if self._redis is None:
            self._redis = Redis(self.folder)
            self._stack.callback(self._redis.stop)
            self._redis.start()
        return self._redis
