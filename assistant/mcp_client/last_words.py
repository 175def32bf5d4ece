"""What external servers say about their failures, for operators: the reason of a refusal, a program's last line."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import TextIO

import httpx2

from assistant.mcp_client.definitions import visible
from assistant.toolkit.bounded_json import load_json

MAX_WORDS = 300
MAX_BODY = 16_384
BODY_SECONDS = 5.0
# Bytes of a program's standard error that are kept.
MAX_TAIL = 4_096
# How long a program that has ended has for its last line to be read.
LAST_LINE_SECONDS = 0.2
_TAGS = re.compile(r"<(?:script|style).{0,10000}?</(?:script|style)>|<[^>]{0,1000}>", re.DOTALL | re.IGNORECASE)
_SECRETS = re.compile(
    r"\b(?:Bearer|Basic)\s+\S+|//[^/\s:@]+:[^/\s@]+@"
    r"|(?i:\b(?:[\w-]*(?:key|token|secret|password))\b[\"']?\s*[:=]\s*)[\"']?[^\s\"',;]{4,}"
    r"|\b(?:sk|pk|rk|key|gh[pousr]|xox\w)[-_][\w.-]{6,}|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{24,}"
)


def masked_words(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a server's words on one line, shortened, without what looks like a key and without these secrets."""
    for secret in secrets:
        text = text.replace(secret, "…") if len(secret) >= 4 else text
    text = _SECRETS.sub("…", " ".join(visible(text[:MAX_BODY]).split()))
    return text if len(text) <= MAX_WORDS else f"{text[: MAX_WORDS - 1]}…"


async def read_beginning(response: httpx2.Response) -> None:
    """Read the body of a refused request, of a length that the client bounds, for `words_of`."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            await response.aread()
    except (httpx2.HTTPError, TimeoutError):
        pass  # its status is known, and is the failure


def words_of(response: httpx2.Response) -> str:
    """Return why a server refused a request, in its own words; "" if it does not say."""
    try:
        body = response.content[:MAX_BODY].decode("utf-8", "replace")
    except httpx2.ResponseNotRead:
        return ""
    sent = {value for name, value in response.request.headers.items() if name.lower() not in _PLAIN_HEADERS}
    sent |= {part for value in sent for part in value.split()}
    return masked_words(_said(body), sorted(sent, key=len, reverse=True))


# Headers of every request, whose values are no secrets and may be part of what a server says.
_PLAIN_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"}
    | {"mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name"}
)


def without_tags(page: str) -> str:
    """Return the words of the beginning of a page in HTML."""
    return " ".join(_TAGS.sub(" ", page[:MAX_BODY]).split())


def _said(body: str) -> str:
    try:
        found = load_json(body)
    except ValueError:
        return without_tags(body)
    for _ in range(3):
        if not isinstance(found, dict):
            break
        words = (found.get(name) for name in ("error_description", "message", "detail", "error", "title"))
        found = next((word for word in words if word), "")
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


class ErrorTail(asyncio.Protocol):
    """The end of a program's standard error, which is also passed on to that of this process."""

    def __init__(self) -> None:
        self._tail = b""
        self._stray = ""
        self.ended = asyncio.Event()

    def note_output(self, line: str) -> None:
        """Keep a line of the standard output that is no message, for programs that write their errors there."""
        self._stray = line[-MAX_TAIL:]

    def data_received(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-MAX_TAIL:]
        sys.stderr.write(data.decode("utf-8", "replace"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()

    @property
    def last_line(self) -> str:
        """The last line that is not blank, without keys; without any, that of the standard output; "" if none is."""
        lines = self._tail.decode("utf-8", "replace").splitlines() if self._tail.strip() else [self._stray]
        return masked_words(next((line for line in reversed(lines) if line.strip()), ""))

    async def wait(self) -> None:
        """Give a program that has ended the time for its last line to arrive."""
        try:
            async with asyncio.timeout(LAST_LINE_SECONDS):
                await self.ended.wait()
        except TimeoutError:
            pass


@asynccontextmanager
async def error_output() -> AsyncGenerator[tuple[TextIO, ErrorTail]]:
    """Yield a file for a program's standard error, and the tail of what is written there."""
    reading, writing = os.pipe()
    tail = ErrorTail()
    reader = os.fdopen(reading, "rb", buffering=0)
    with os.fdopen(writing, "w") as writer:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: tail, reader)
        try:
            yield writer, tail
        finally:
            transport.close()
