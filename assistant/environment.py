"""Reads environment variables. Wrong values are collected, and a system check reports them at start-up."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import environ
from cryptography.fernet import Fernet

from assistant.core.values.pricing import read_prices
from assistant.core.values.quota_kinds import NAMES
from assistant.setting_text import (
    Reader,
    split_words,
    written_commands,
    written_flag,
    written_json,
    written_limits,
    written_list,
    written_number,
    written_path,
    written_text,
)
from assistant.toolkit.guards.internal_hosts import InternalHost, parse_internal_host
from assistant.toolkit.text import odd_character, stripped

T = TypeVar("T")

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off", ""})
# Reserved by RFC 2606, 6761, 6762 and 8375, and `internal` by ICANN.
PRIVATE_DOMAINS = (".localhost", ".local", ".test", ".internal", ".home.arpa")


class Environment:
    """The environment of the process. Each method returns a variable's value, or the default if it is unset or wrong.

    `problems` collects the wrong ones as (variable, what is wrong), `readers` how each one is read.
    """

    def __init__(self) -> None:
        self._env = environ.Env()
        self.problems: list[tuple[str, str]] = []
        self.readers: dict[str, Reader] = {}

    def read_file(self, path: Path) -> None:
        """Read variables that the environment does not have from a `.env` file, if it exists."""
        if path.is_file():
            self._env.read_env(str(path))

    def _read(
        self, name: str, default: T, parse: Callable[[str], T], written: Callable[[Any], str] = written_text
    ) -> T:
        self.readers[name] = Reader(default, parse, written)
        text = self._env.str(name, default="").strip()
        if not text:
            return default
        try:
            return parse(text)
        except (ValueError, environ.ImproperlyConfigured) as exc:
            self.problems.append((name, str(exc)))
            return default

    def settled(self, defaults: Mapping[str, Any], settings: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Return the value of each setting, the project's own if it is right, and what is wrong with its own.

        Args:
            defaults: the settings by name, as they were read from the environment.
            settings: the project's Django settings.
        """
        values: dict[str, Any] = {}
        problems: list[tuple[str, str]] = []
        for name, default in defaults.items():
            value = getattr(settings, name, default)
            # The same object, as in this repository's own settings, is read already.
            if name in self.readers and value is not default:
                try:
                    value = self.readers[name].read(value)
                except ValueError as exc:
                    problems.append((name, str(exc)))
                    value = default
            values[name] = value
        return values, problems

    def text(self, name: str, default: str = "") -> str:
        return self._read(name, default, stripped)

    def flag(self, name: str, default: bool = False) -> bool:
        def parse(text: str) -> bool:
            if text.lower() not in TRUE | FALSE:
                raise ValueError("must be true or false")
            return text.lower() in TRUE

        return self._read(name, default, parse, written_flag)

    def number(self, name: str, default: int, *, least: int = 0) -> int:
        def parse(text: str) -> int:
            try:
                value = int(text)
            except ValueError:
                raise ValueError("must be a whole number") from None
            if value < least:
                raise ValueError(f"must be {least} or more")
            return value

        return self._read(name, default, parse, written_number)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        def parse(text: str) -> str:
            if text.lower() not in choices:
                raise ValueError(f"must be one of {', '.join(choices)}")
            return text.lower()

        return self._read(name, default, parse)

    def key(self, name: str) -> str:
        """Return a secret that can be sent in an HTTP header. Error messages do not contain it."""

        def parse(text: str) -> str:
            key = stripped(text)
            if not re.fullmatch(r"[!-~]*", key):
                odd = odd_character(key, re.compile(r"[^!-~]"))
                raise ValueError(f"must be printable ASCII without spaces, and has {odd}")
            return key

        return self._read(name, "", parse)

    def words(
        self, name: str, default: tuple[str, ...] = (), *, problem: Callable[[str], str] = lambda word: ""
    ) -> list[str]:
        """Return words that are separated by commas; `problem` says what is wrong with one, or nothing."""

        def parse(text: str) -> list[str]:
            words = split_words(text)
            for word in words:
                if found := problem(word):
                    raise ValueError(found)
            return words

        return self._read(name, list(default), parse, written_list)

    def paths(self, name: str) -> list[str]:
        """Beginnings of URL paths."""
        return self.words(
            name, problem=lambda path: "" if path.startswith("/") else f"{path!r} must be a path like /uploads/"
        )

    def hosts(self, name: str, default: tuple[str, ...]) -> list[str]:
        """Return host names in the format of ALLOWED_HOSTS."""

        def problem(host: str) -> str:
            is_host = re.fullmatch(r"\*|\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9a-fA-F:.]+\]", host)
            return "" if is_host else f"{host!r} must be a host like example.com, without scheme and port"

        return self.words(name, default, problem=problem)

    def url(self, name: str, default: str = "", *, schemes: tuple[str, ...] = ("http", "https")) -> str:
        def parse(text: str) -> str:
            text = stripped(text)
            if not text:
                return default
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
        def problem(origin: str) -> str:
            parts = urlsplit(origin)
            is_origin = parts.scheme in {"http", "https"} and parts.netloc and parts.path in {"", "/"}
            return "" if is_origin else f"{origin!r} must be an origin like https://example.com"

        return self.words(name, problem=problem)

    def internal_hosts(self, name: str) -> tuple[InternalHost, ...]:
        """Return internal hosts, addresses and networks, each with an optional port."""
        return self._read(
            name, (), lambda text: tuple(parse_internal_host(word) for word in split_words(text)), written_list
        )

    def file(self, name: str) -> Path | None:
        def parse(text: str) -> Path:
            path = Path(text).expanduser()
            if not path.is_file():
                raise ValueError("names a file that does not exist")
            return path

        return self._read(name, None, parse, written_path)

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

        return self._read(name, {}, checked, written_commands)

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

        return self._read(name, dict(default or {}), checked, written_limits)

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

        return self._read(name, {}, checked, written_json)

    def fernet_keys(self, name: str) -> list[str]:
        """Return Fernet keys. Error messages do not contain them."""

        def problem(key: str) -> str:
            try:
                Fernet(key)
            except ValueError:
                return "must be Fernet keys (32 url-safe base64 bytes each), comma separated"
            return ""

        return self.words(name, problem=problem)

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


def sentences(environment: Iterable[tuple[str, str]], settings: Iterable[tuple[str, str]]) -> list[str]:
    """Return a sentence for each wrong variable and for each wrong setting, given as (name, what is wrong)."""
    return [
        *(f"The environment variable {name} {problem}." for name, problem in environment),
        *(f"The setting {name} {problem}." for name, problem in settings),
    ]


def public_host(hosts: Iterable[str]) -> str:
    """Return the first entry of ALLOWED_HOSTS that people elsewhere can use; empty if there is none.

    Names without a dot, names reserved for use inside, and private addresses are not public.
    """
    return next((host for host in hosts if _is_public(host.strip("[]").strip(".").lower())), "")


def _is_public(host: str) -> bool:
    try:
        return ip_address(host).is_global
    except ValueError:
        return host == "*" or ("." in host and not host.endswith(PRIVATE_DOMAINS))


def local_secret(path: Path) -> str:
    """Return the SECRET_KEY in a file, which is generated at first and which only its owner can read."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
        return path.read_text().strip()
