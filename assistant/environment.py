"""Reads environment variables. Wrong values are collected, and a system check reports them at start-up."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import environ
from cryptography.fernet import Fernet

from assistant.core.values.pricing import read_prices
from assistant.core.values.quota_kinds import NAMES
from assistant.toolkit.guards.internal_hosts import InternalHost, parse_internal_host

T = TypeVar("T")

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off", ""})


class Environment:
    """The environment of the process. Each method returns a variable's value, or the default if it is unset or wrong.

    `problems` collects the wrong ones as (variable, what is wrong).
    """

    def __init__(self) -> None:
        self._env = environ.Env()
        self.problems: list[tuple[str, str]] = []

    def read_file(self, path: Path) -> None:
        """Read variables that the environment does not have from a `.env` file, if it exists."""
        if path.is_file():
            self._env.read_env(str(path))

    def _read(self, name: str, default: T, parse: Callable[[str], T]) -> T:
        text = self._env.str(name, default="").strip()
        if not text:
            return default
        try:
            return parse(text)
        except (ValueError, environ.ImproperlyConfigured) as exc:
            self.problems.append((name, str(exc)))
            return default

    def text(self, name: str, default: str = "") -> str:
        return self._read(name, default, str)

    def flag(self, name: str, default: bool = False) -> bool:
        def parse(text: str) -> bool:
            if text.lower() not in TRUE | FALSE:
                raise ValueError("must be true or false")
            return text.lower() in TRUE

        return self._read(name, default, parse)

    def number(self, name: str, default: int, *, least: int = 0) -> int:
        def parse(text: str) -> int:
            try:
                value = int(text)
            except ValueError:
                raise ValueError("must be a whole number") from None
            if value < least:
                raise ValueError(f"must be {least} or more")
            return value

        return self._read(name, default, parse)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        def parse(text: str) -> str:
            if text.lower() not in choices:
                raise ValueError(f"must be one of {', '.join(choices)}")
            return text.lower()

        return self._read(name, default, parse)

    def key(self, name: str) -> str:
        """Return a secret that can be sent in an HTTP header. Error messages do not contain it."""

        def parse(text: str) -> str:
            if not re.fullmatch(r"[!-~]+", text):
                raise ValueError("must be printable ASCII without spaces")
            return text

        return self._read(name, "", parse)

    def words(self, name: str, default: tuple[str, ...] = ()) -> list[str]:
        return self._read(name, list(default), lambda text: [word.strip() for word in text.split(",") if word.strip()])

    def hosts(self, name: str, default: tuple[str, ...]) -> list[str]:
        """Return host names in the format of ALLOWED_HOSTS."""
        values = self.words(name, default)
        for value in values:
            if not re.fullmatch(r"\*|\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9a-fA-F:.]+\]", value):
                self.problems.append((name, f"{value!r} must be a host like example.com, without scheme and port"))
                return list(default)
        return values

    def url(self, name: str, default: str = "", *, schemes: tuple[str, ...] = ("http", "https")) -> str:
        def parse(text: str) -> str:
            parts = urlsplit(text)
            if parts.scheme not in schemes or not (parts.path if parts.scheme == "unix" else parts.hostname):
                raise ValueError(f"must be a URL that starts with {' or '.join(f'{s}://' for s in schemes)}")
            try:
                has_port = parts.port != 0
            except ValueError:
                has_port = False
            if not has_port:
                raise ValueError("must name a port from 1 to 65535, or none")
            if parts.scheme in {"redis", "rediss"} and not re.fullmatch(r"/?\d*", parts.path):
                raise ValueError("must name its database by a number, as redis://127.0.0.1:6379/0 does")
            return text

        return self._read(name, default, parse)

    def origins(self, name: str) -> list[str]:
        values = self.words(name)
        for value in values:
            parts = urlsplit(value)
            if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path not in {"", "/"}:
                self.problems.append((name, f"{value!r} must be an origin like https://example.com"))
                return []
        return values

    def internal_hosts(self, name: str) -> tuple[InternalHost, ...]:
        """Return internal hosts, addresses and networks, each with an optional port."""
        return self._read(
            name, (), lambda text: tuple(parse_internal_host(word.strip()) for word in text.split(",") if word.strip())
        )

    def file(self, name: str) -> Path | None:
        def parse(text: str) -> Path:
            path = Path(text).expanduser()
            if not path.is_file():
                raise ValueError("names a file that does not exist")
            return path

        return self._read(name, None, parse)

    def commands(self, name: str) -> dict[str, list[str]]:
        """Return command lines by name, each as a list of arguments, from a JSON object of strings."""

        def parse(text: str) -> dict[str, list[str]]:
            found = json.loads(text)
            if not isinstance(found, dict) or not all(isinstance(line, str) for line in found.values()):
                raise ValueError
            words = {key: shlex.split(line) for key, line in found.items()}
            if not all(words.values()) or not all(re.fullmatch(r"[\w-]{1,60}", key, re.ASCII) for key in words):
                raise ValueError
            return words

        def checked(text: str) -> dict[str, list[str]]:
            try:
                return parse(text)
            except ValueError:
                raise ValueError('must be a JSON object like {"files": "/usr/bin/mcp-files --root /srv"}') from None

        return self._read(name, {}, checked)

    def limits(self, name: str, default: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return limits by name, from text such as `messages_per_day=200,cost_per_month=50`, added to the defaults."""

        def parse(text: str) -> dict[str, float]:
            given = dict(part.split("=", 1) for part in text.replace(" ", "").split(",") if part)
            if not given.keys() <= set(NAMES):
                raise ValueError
            numbers = {key: float(number) if key.startswith("cost") else int(number) for key, number in given.items()}
            if not all(0 <= number < 10**12 for number in numbers.values()):
                raise ValueError
            return {**(default or {}), **numbers}

        def checked(text: str) -> dict[str, float]:
            try:
                return parse(text)
            except ValueError:
                names = ", ".join(NAMES)
                raise ValueError(f"must be limits like messages_per_day=200, comma separated, of {names}") from None

        return self._read(name, dict(default or {}), checked)

    def prices(self, name: str) -> dict[str, dict[str, float]]:
        """Return prices of a million tokens by model, from a JSON object of objects."""

        def parse(text: str) -> dict[str, dict[str, float]]:
            found = json.loads(text)
            read_prices(found)
            return dict(found)

        def checked(text: str) -> dict[str, dict[str, float]]:
            try:
                return parse(text)
            except ValueError:
                example = '{"gpt-4.1": {"input": 2, "output": 8, "cached_input": 0.5}}'
                raise ValueError(f"must be a JSON object like {example}") from None

        return self._read(name, {}, checked)

    def fernet_keys(self, name: str) -> list[str]:
        """Return Fernet keys. Error messages do not contain them."""
        keys = self.words(name)
        for key in keys:
            try:
                Fernet(key)
            except ValueError:
                # Without the value, which is a secret.
                self.problems.append((name, "must be Fernet keys (32 url-safe base64 bytes each), comma separated"))
                return []
        return keys

    def database(self, name: str, default: str) -> dict[str, Any]:
        """Return an entry of Django's DATABASES, from a URL."""
        text = self._env.str(name, default="").strip() or default
        try:
            parsed = dict(self._env.db_url_config(text))
        except Exception as exc:
            self.problems.append((name, f"is not a database URL ({type(exc).__name__})"))
            parsed = dict(self._env.db_url_config(default))
        if parsed.get("ENGINE") not in {"django.db.backends.sqlite3", "django.db.backends.postgresql"}:
            self.problems.append((name, "must start with sqlite:// or postgres://"))
            parsed = dict(self._env.db_url_config(default))
        database = str(parsed.get("NAME") or "")
        if parsed["ENGINE"].endswith("postgresql"):
            if not database:
                self.problems.append((name, "must name a database, as postgres://user:password@host/name does"))
        elif database != ":memory:" and not Path(database).parent.is_dir():
            self.problems.append((name, "names a file in a folder that does not exist"))
        return parsed


def local_secret(path: Path) -> str:
    """Return the SECRET_KEY in a file, which is generated at first and which only its owner can read."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
        return path.read_text().strip()
