"""What a report of a fault needs: versions, apps, settings, checks and the end of a log, without secrets."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import run_checks
from django.db import DatabaseError, connection

from assistant.contrib.deploy.findings import Finding
from assistant.optional_apps import installed, setting_names
from assistant.providers.failure_masking import MASK, without_keys

# The end of a log that is in a report.
MAX_LINES = 200
MAX_BYTES = 64 * 1024
# Shorter texts occur elsewhere by chance.
SHORTEST_SECRET = 6
_SECRET_NAME = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|DSN", re.IGNORECASE)
_MAIL_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")


def report_of(findings: Iterable[Finding], log: Path | None = None) -> str:
    """Return a report as Markdown, to be read before it is sent: names of hosts and tenants may be in it.

    Args:
        log: a log, whose end is added.

    Raises:
        OSError: the log cannot be read.
    """
    lines = [
        "# Report of a deployment",
        "",
        "Read it before you send it. Secrets and mail addresses are masked; names of hosts and tenants may be in it.",
        "",
        "## Versions",
        "",
        *_versions(),
        "",
        "## Apps",
        "",
        *(f"- {name}" for name in ("assistant", *(app.name for app in installed()))),
        "",
        "## Settings",
        "",
        *_settings(),
        "",
        "## Checks",
        "",
        *(f"- {finding.line}" for finding in findings),
        *(f"- {message.id}: {message.msg}" for message in run_checks()),
        *([] if log is None else ["", f"## The end of {log.name}", "", "```text", *_last_lines(log), "```"]),
    ]
    return _MAIL_ADDRESS.sub(f"{MASK}@{MASK}", without_keys("\n".join(lines), _secrets())) + "\n"


def _versions() -> Iterator[str]:
    own = next((one.version for one in distributions(name="tenant-assistant")), "from a checkout")
    yield f"- Tenant Assistant {own}"
    yield f"- Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    try:
        with connection.cursor():
            yield f"- {connection.display_name} {'.'.join(map(str, connection.get_database_version()))}"
    except DatabaseError as exc:
        yield f"- {connection.display_name}, which does not answer ({type(exc).__name__})"
    packages = sorted({f"{one.name} {one.version}" for one in distributions()}, key=str.lower)
    yield f"- Packages: {', '.join(packages)}"


def _settings() -> Iterator[str]:
    """Yield the assistant's settings that are not empty; of texts and lists only that they are set."""
    for name in sorted(setting_names()):
        value = getattr(settings, name, None)
        if isinstance(value, bool | int | float):
            yield f"- {name} = {value}"
        elif value:
            yield f"- {name} is set ({type(value).__name__})"


def _secrets() -> list[str]:
    """Return the secrets of the settings and the environment, the longest first."""
    own = {name: getattr(settings, name, None) for name in dir(settings)}
    named = [*own.items(), *os.environ.items()]
    texts: list[str | None] = [text for name, value in named if _SECRET_NAME.search(name) for text in _texts_of(value)]
    texts += [config.get("PASSWORD") for config in settings.DATABASES.values()]
    texts += [_password_of(text) for _, value in named for text in _texts_of(value) if "://" in text and "@" in text]
    found = {text for text in texts if isinstance(text, str) and len(text) >= SHORTEST_SECRET}
    return sorted(found, key=len, reverse=True)


def _texts_of(value: object) -> Iterator[str]:
    """Yield the texts in a value of settings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts_of(one)
    elif isinstance(value, list | tuple | set):
        for one in value:
            yield from _texts_of(one)


def _password_of(address: str) -> str | None:
    try:
        return urlsplit(address).password
    except ValueError:  # no address
        return None


def _last_lines(log: Path) -> list[str]:
    with log.open("rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - MAX_BYTES)
        file.seek(start)
        data = file.read(MAX_BYTES)
    if start:  # in the midst of a line, whose secret may be cut
        data = data.partition(b"\n")[2]
    text = data.decode("utf-8", "replace")
    # A fence in the log would end the block.
    return text.replace("```", "'''").splitlines()[-MAX_LINES:]
