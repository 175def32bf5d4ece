"""Hostile text over HTTP: in the path, the query, the headers and the body, at every address of the site."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

import aiohttp
from yarl import URL

from benchmarks.resilience.hostile.tally import FAILURES, Tally
from benchmarks.resilience.hostile.texts import BODIES, SEGMENTS, TEXTS, VALUES
from benchmarks.resilience.sites import Server, Site

# Values of path parameters that exist.
GOOD = {"tenant": "bench", "assistant": "support", "object_id": "1"}
PARAMETERS = ("q", "cursor", "limit", "since", "o", "p", "e", "format", "tenant", "next", "title", "id")
FIELDS = (
    "assistant", "title", "rating", "comment", "messages", "model", "threadId", "runId", "method", "params",
)  # fmt: skip
FORM_FIELDS = ("title", "username", "password", "slug", "name", "q", "action")
HEADERS = ("X-Request-ID", "Idempotency-Key", "Accept-Language", "Mcp-Session-Id", "Last-Event-ID")
TYPES = (*["application/json"] * 3, "text/plain", "application/json; charset=utf-99")
MCP = [("/mcp/", (), ("POST", "body")), ("/mcp/bench/", (), ("POST", "body"))]
AT_ONCE = 8
# How long a stream is read: some do not end.
STREAM_SECONDS = 3.0
# An internal error in a run's event, a REST answer or a JSON-RPC answer.
_INTERNAL = re.compile(rb'"code": ?(?:"(?:%b)"|-32603)' % "|".join(sorted(FAILURES)).encode())

Address = tuple[str, Sequence[str]]


async def send_requests(
    site: Site, server: Server, tally: Tally, addresses: Sequence[Address], tries_in_all: int
) -> None:
    """Try every address at least once, and `tries_in_all` times in all.

    An address is a path and the names of its parameters.
    """
    chance = random.Random(6)
    tries = [(path, parameters, _kind(chance)) for path, parameters in addresses]
    tries += [(*chance.choice(addresses), _kind(chance)) for _ in range(max(0, tries_in_all - len(tries)))]
    tries += MCP * 20
    turn = asyncio.Semaphore(AT_ONCE)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(90), auto_decompress=False) as http:

        async def one(number: int, template: str, parameters: Sequence[str], kind: tuple[str, str]) -> None:
            async with turn:
                await _try(http, site, server, tally, number, (template, parameters), kind)

        await asyncio.gather(*(one(number, *each) for number, each in enumerate(tries)))


def _kind(chance: random.Random) -> tuple[str, str]:
    """Return a random method, and the part of the request that gets the hostile text."""
    where = chance.choice(["path", "query", "header", "body", "form"])
    if where in {"body", "form"}:
        return chance.choice(["POST", "POST", "PATCH", "PUT", "DELETE"]), where
    return chance.choice(["GET", "GET", "GET", "HEAD", "OPTIONS", "POST"]), where


async def _try(
    http: aiohttp.ClientSession,
    site: Site,
    server: Server,
    tally: Tally,
    number: int,
    address: Address,
    kind: tuple[str, str],
) -> None:
    method, where = kind
    chance = random.Random(number)
    template, parameters = address
    values = {name: GOOD.get(name, "1") for name in parameters}
    if "thread" in values:
        values["thread"] = f"00000000-0000-4000-8000-{number % 5:012d}"
    if where == "path" and parameters:
        values[chance.choice(parameters)] = chance.choice(SEGMENTS)
    path = template.replace("\\Z", "").replace("\\", "") % values
    tally.addresses.add(template)
    if "logout" in path:
        return  # the session is still needed
    escaped = TEXTS[chance.choice(list(TEXTS))]
    text = json.loads(f'"{escaped}"')[:3000]
    raw = quote(text.encode("utf-8", "surrogatepass"))
    headers, body = {}, b""
    if where == "query":
        path += f"?{chance.choice(PARAMETERS)}={chance.choice([raw, '%00', '%ff', '9' * 400, 'NaN', '-1'])}"
    elif where == "header":
        headers = dict.fromkeys(HEADERS, _header(text))
    elif where == "body":
        body = _body(chance, escaped)
        headers["Content-Type"] = chance.choice(TYPES)
    elif where == "form":
        body = "&".join(f"{one}={raw}" for one in FORM_FIELDS).encode()
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    as_program = path.startswith(("/api/", "/v1/", "/mcp/"))
    key = site.keys[number % len(site.keys)] if as_program else ""
    await send(http, server, tally, method, path, key=key, session=site.operator, headers=headers, body=body)


def _header(text: str) -> str:
    """Return as much of a text as HTTP allows in a header."""
    latin = text.encode("utf-8", "replace").decode("latin-1")
    return "".join(one for one in latin if one >= " " and one != "\x7f")[:2000]


def _body(chance: random.Random, escaped: str) -> bytes:
    values = [f'{{"{chance.choice(PARAMETERS)}": {value}}}'.encode() for value in VALUES.values()]
    texts = [f'{{"{name}": "{escaped[:3000]}"}}'.encode() for name in FIELDS]
    return chance.choice([*BODIES.values(), *values, *texts])


async def send(
    http: aiohttp.ClientSession,
    server: Server,
    tally: Tally,
    method: str,
    path: str,
    *,
    key: str = "",
    session: str = "",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    about: str = "",
) -> None:
    """Send a request with a key, or else with a session, and count its answer; `about` describes it in the report."""
    sent, what = {**(headers or {})}, f"{method} {path[:120]}{about and f' ({about})'}"
    sent.setdefault("Content-Type", "application/json")
    if key:
        sent["Authorization"] = f"Bearer {key}"
    else:
        token = "c" * 32
        sent |= {"Cookie": f"sessionid={session}; csrftoken={token}", "X-CSRFToken": token, "Origin": server.url}
    tally.tries += 1
    url = URL(server.url + path, encoded=True)
    try:
        async with http.request(method, url, headers=sent, data=body or None, allow_redirects=False) as answer:
            internal = _INTERNAL.search(await _read(answer))
            if answer.status >= 500 or internal:
                told = f" {internal[0].decode()}" if internal else ""
                tally.failed.append(f"{what} -> {answer.status}{told}")
    except (aiohttp.ClientError, TimeoutError, ValueError) as exc:
        tally.failed.append(f"{what} -> {type(exc).__name__} {exc}"[:200])


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    if "event-stream" not in answer.headers.get("Content-Type", ""):
        return await answer.read()
    pieces = []
    try:
        async with asyncio.timeout(STREAM_SECONDS):
            async for piece in answer.content.iter_any():
                pieces.append(piece)  # noqa: PERF401 - what came before the time-out is kept
    except TimeoutError:
        pass
    return b"".join(pieces)
