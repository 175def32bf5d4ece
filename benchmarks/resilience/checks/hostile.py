"""Hostile text at every entrance, on both databases."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from benchmarks.processes import started
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Ground
from benchmarks.resilience.client import Client, Gone, connected, run_input
from benchmarks.resilience.sites import POSTGRES, SQLITE, Server, Site
from tests.fake_answers import Answer, Recorded, echo, reply
from tests.fake_provider import FakeProvider

TITLE = "Hostile text"
HOW = (
    "Every address of the site, read from its URL configuration (pages, admin, REST, /v1, MCP), with hostile text in "
    "its parameters, query, headers and body, as a superuser and with an API key; every field of every websocket "
    "frame, with a ping after each; messages, titles and results of tools that are stored. The same on SQLite and "
    "PostgreSQL."
)
REQUESTS = 2500
FRAMES_A_CONNECTION = 20
FAILED, DEAD, DIFFERENT, UNTOLD = (
    "answers of 500 or above, and internal errors",
    "dead sockets",
    "stored texts that differ between the databases",
    "addresses never tried",
)
ADDRESSES = (
    "import django; django.setup(); import json; from tests.isolation.doors import addresses; "
    "print(json.dumps([[one.path, one.parameters] for one in addresses()]), flush=True)"
)
DEEP = 5000
# As a client can write them into JSON: escapes stay escapes.
TEXTS: Mapping[str, str] = {
    "NUL": r"a\u0000b",
    "half a character": r"a\ud800b",
    "the other half": r"\udfff",
    "direction marks": r"\u202eevil\u2066\u200f",
    "tag characters": r"hi\udb40\udc41\udb40\udc42",
    "control characters": r"\u0001\u0008\u001b[31m\u007f\u0085",
    "a byte order mark": r"\ufeffx",
    "no characters": r"\uffff\ufffe",
    "combining": "e" + r"\u0301" * 300,
    "emoji": r"\ud83d\udc68\u200d\ud83d\udc69",
    "line separators": r"a\u2028b\u2029c",
    "long": "x" * 40_000,
    "markup": "<script>alert(1)</script>{{7*7}}{% debug %}%s%n",
    "SQL": "'; DROP TABLE assistant_message; --",
    "a path": "../../../../etc/passwd",
}
# Values that are no text at all, as JSON.
VALUES: Mapping[str, str] = {
    "NaN": "NaN",
    "Infinity": "-Infinity",
    "a large number": "9" * 400,
    "a large float": "1e999",
    "null": "null",
    "true": "true",
    "a list": "[[]]",
    "an object": '{"a":{"b":null}}',
    "depth": "[" * DEEP + "]" * DEEP,
}
BODIES: Mapping[str, bytes] = {
    "bad UTF-8": b'{"text": "\xff\xfe\xed\xa0\x80"}',
    "no JSON": b"{",
    "nothing": b"",
    "depth": b"[" * 60_000,
    "size": b'{"text": "' + b"x" * 300_000 + b'"}',
    "two keys": b'{"title": "a", "title": "b"}',
}
SEGMENTS = (
    "%00",
    "%ff%fe",
    "%ed%a0%80",
    "%E2%80%AEx",
    "%F3%A0%81%81",
    "x" * 3000,
    "%2e%2e%2f",
    "NaN",
    "9" * 60,
    "%0d%0aX:y",
    "'%22%3c",
)


def store_what_comes() -> None:
    """Texts are taken as they come."""
    from assistant.services import inputs

    inputs.clean_text = lambda text: text


FAULTS = (Fault("messages are taken as they come", FAILED, store_what_comes),)


@dataclass(slots=True)
class Tally:
    """What one database's tries brought."""

    tries: int = 0
    failed: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    addresses: set[str] = field(default_factory=set)
    stored: list[tuple[Any, ...]] = field(default_factory=list)


def measure(ground: Ground) -> Sequence[Line]:
    tallies, known = [], set()
    for kind in (SQLITE, POSTGRES):
        with FakeProvider() as provider, ground.site(kind, provider.url) as site, ground.serve(site) as server:
            provider.rule(_answer)
            with started([sys.executable, "-c", ADDRESSES], site.env) as process:
                templates: list[tuple[str, list[str]]] = json.loads(process.line())
            known = {path for path, _ in templates}
            tallies.append(asyncio.run(_try_all(ground, site, server, templates)))
            tallies[-1].stored = _stored(site)
    here, there = tallies
    differing = sum(one != other for one, other in zip(here.stored, there.stored, strict=False))
    differing += abs(len(here.stored) - len(there.stored))
    failed, dead = [*here.failed, *there.failed], [*here.dead, *there.dead]
    return [
        Line(FAILED, len(failed), "", 0, beside="; ".join(failed[:5]) or f"of {here.tries + there.tries} tries"),
        Line(DEAD, len(dead), "", 0, beside="; ".join(dead[:5])),
        Line(DIFFERENT, differing, "", 0, beside=f"of {len(here.stored)} texts"),
        Line(UNTOLD, len(known - here.addresses) + len(known - there.addresses), "", 0, beside=f"of {len(known)}"),
    ]


def _answer(request: Recorded) -> Answer:
    text = request.last_text
    if text.startswith("[repeat]") and request.messages[-1]["role"] == "user":
        return reply(calls=[("repeat", '{"text": "' + text.removeprefix("[repeat]") + '"}')])(request)
    return echo(request)


async def _try_all(ground: Ground, site: Site, server: Server, templates: Sequence[tuple[str, list[str]]]) -> Tally:
    tally = Tally()
    await _send_texts(site, server, tally)
    await _send_frames(ground, site, server, tally)
    await _send_requests(ground, site, server, templates, tally)
    return tally


# What is stored


async def _send_texts(site: Site, server: Server, tally: Tally) -> None:
    """Each text as a message, as a tool's result and as a title."""
    for number, (name, text) in enumerate(TEXTS.items()):
        thread = f"00000000-0000-4000-8000-{number:012d}"
        async with connected(server.port, site.keys[number % len(site.keys)]) as client:
            for place, content in enumerate((text, "[repeat]" + text.replace("\\", "\\\\").replace('"', r"\"")[:4000])):
                given = run_input("TEXT", thread=thread, message=f"m{number}-{place}")
                await client.connection.send(json.dumps(given).replace("TEXT", content))
                end = await client.until_end(given["runId"])
                tally.tries += 1
                if end.get("code") == "internal_error":
                    tally.failed.append(f"message: {name}")
        body = f'{{"assistant": "support", "title": "{text[:200]}"}}'.encode()
        async with aiohttp.ClientSession() as http:
            await _request(
                http, server, "POST", "/api/v1/tenants/bench/conversations/", tally, key=site.keys[0], body=body
            )


def _stored(site: Site) -> list[tuple[Any, ...]]:
    messages = site.database.rows(
        "SELECT role, content FROM assistant_message m JOIN assistant_conversation c ON c.id = m.conversation_id "
        "WHERE m.message_id LIKE 'm%%-%%' OR m.role <> 'user'"
        if site.kind == POSTGRES
        else "SELECT role, content FROM assistant_message WHERE message_id LIKE 'm%-%' OR role <> 'user'"
    )
    titles = site.database.rows("SELECT 'title', title FROM assistant_conversation")
    results = site.database.rows("SELECT 'result', result FROM assistant_toolcall")
    return sorted({*map(tuple, messages), *map(tuple, titles), *map(tuple, results)})


# Websocket


def _frames() -> Iterator[tuple[str, str]]:
    """Every field of every frame with everything hostile in it; what it is, and the frame's text."""
    frames: list[dict[str, Any]] = [
        run_input("Hello", tools=[{"name": "t", "description": "d", "parameters": {"type": "object"}}]),
        {**run_input("Hello"), "messages": [{"id": "x", "role": "tool", "toolCallId": "c", "content": "r"}]},
        {**run_input("Hello"), "resume": [{"interruptId": "c", "status": "resolved", "payload": {"approved": True}}]},
        {"type": "attach", "threadId": "t", "after": {"runId": "r", "seq": 1}},
        {"type": "cancel", "runId": "r"},
        {"type": "ping", "x": "y"},
    ]
    hostile = [(name, f'"{text[:4000]}"') for name, text in TEXTS.items()] + list(VALUES.items())
    for frame in frames:
        for path in _paths(frame):
            for name, value in hostile:
                marked = _put(frame, path, "@HOSTILE@")
                yield f"{'.'.join(map(str, path))}: {name}", json.dumps(marked).replace('"@HOSTILE@"', value)
    yield from ((name, body.decode(errors="surrogateescape")) for name, body in BODIES.items() if name != "bad UTF-8")


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


def _put(value: Any, path: tuple[Any, ...], new: str) -> Any:
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = _put(value[path[0]], path[1:], new)
    return copied


async def _send_frames(ground: Ground, site: Site, server: Server, tally: Tally) -> None:
    frames = list(_frames())
    random.Random(6).shuffle(frames)
    frames = frames[: ground.many(len(frames), 60)]
    groups = [frames[at : at + FRAMES_A_CONNECTION] for at in range(0, len(frames), FRAMES_A_CONNECTION)]
    turn = asyncio.Semaphore(len(site.keys))

    async def one(number: int, group: Sequence[tuple[str, str]]) -> None:
        async with turn, connected(server.port, site.keys[number % len(site.keys)]) as client:
            for name, text in group:
                tally.tries += 1
                try:
                    await _send_frame(client, name, text, tally)
                except (Gone, TimeoutError):
                    tally.dead.append(name)
                    return

    await asyncio.gather(*(one(number, group) for number, group in enumerate(groups)))


async def _send_frame(client: Client, name: str, text: str, tally: Tally) -> None:
    await client.connection.send(text)
    await client.connection.send('{"type":"ping"}')
    first = len(client.frames)
    await client.until(lambda frame: frame["type"] == "CUSTOM" and frame["name"] == "pong", 60)
    if any(frame.get("code") == "internal_error" for frame in client.frames[first:]):
        tally.failed.append(f"frame, {name}")


# HTTP


async def _send_requests(
    ground: Ground, site: Site, server: Server, templates: Sequence[tuple[str, list[str]]], tally: Tally
) -> None:
    """Every address at least once, and as many tries as the scale asks for."""
    chance = random.Random(6)
    tries = [(template, parameters, _kind(chance)) for template, parameters in templates]
    more = max(0, ground.many(REQUESTS) - len(tries))
    tries += [(*chance.choice(list(templates)), _kind(chance)) for _ in range(more)]
    tries += [("/mcp/", [], ("POST", "body")), ("/mcp/bench/", [], ("POST", "body"))] * 20
    turn = asyncio.Semaphore(8)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(90), auto_decompress=False) as http:

        async def one(number: int, template: str, parameters: Sequence[str], kind: tuple[str, str]) -> None:
            async with turn:
                await _one_request(http, site, server, number, template, parameters, kind, tally)

        await asyncio.gather(*(one(number, *each) for number, each in enumerate(tries)))


def _kind(chance: random.Random) -> tuple[str, str]:
    """A method, and where the hostile text goes."""
    where = chance.choice(["path", "query", "header", "body", "form"])
    if where in {"body", "form"}:
        return chance.choice(["POST", "POST", "PATCH", "PUT", "DELETE"]), where
    return chance.choice(["GET", "GET", "GET", "HEAD", "OPTIONS", "POST"]), where


async def _one_request(
    http: aiohttp.ClientSession,
    site: Site,
    server: Server,
    number: int,
    template: str,
    parameters: Sequence[str],
    kind: tuple[str, str],
    tally: Tally,
) -> None:
    method, where = kind
    chance = random.Random(number)
    good = {
        "tenant": "bench",
        "assistant": "support",
        "thread": f"00000000-0000-4000-8000-{number % 5:012d}",
        "object_id": "1",
    }
    values = {name: good.get(name, "1") for name in parameters}
    if where == "path" and parameters:
        values[chance.choice(list(parameters))] = chance.choice(SEGMENTS)
    path = template.replace("\\Z", "").replace("\\", "") % values
    tally.addresses.add(template)
    if "logout" in path:
        return
    name = chance.choice(list(TEXTS))
    text = json.loads(f'"{TEXTS[name]}"')[:3000]
    raw = quote(text.encode("utf-8", "surrogatepass"))
    field_name = chance.choice(
        ["q", "cursor", "limit", "since", "o", "p", "e", "format", "tenant", "next", "title", "id"]
    )
    if where == "query":
        path += f"?{field_name}={chance.choice([raw, '%00', '%ff', '9' * 400, 'NaN', '-1'])}"
    headers, body = {}, b""
    if where == "header":
        safe = text.encode("utf-8", "replace").decode("latin-1")
        clean = "".join(one for one in safe if one >= " " and one != "\x7f")[:2000]
        for header in ("X-Request-ID", "Idempotency-Key", "Accept-Language", "Mcp-Session-Id", "Last-Event-ID"):
            headers[header] = clean
    elif where == "body":
        options = [*BODIES.values(), *(f'{{"{field_name}": {value}}}'.encode() for value in VALUES.values())]
        fields = (
            "assistant",
            "title",
            "rating",
            "comment",
            "messages",
            "model",
            "threadId",
            "runId",
            "method",
            "params",
        )
        options += [f'{{"{one}": "{TEXTS[name][:3000]}"}}'.encode() for one in fields]
        body = chance.choice(options)
        headers["Content-Type"] = chance.choice(
            ["application/json"] * 3 + ["text/plain", "application/json; charset=utf-99"]
        )
    elif where == "form":
        body = "&".join(
            f"{one}={raw}" for one in ("title", "username", "password", "slug", "name", "q", "action")
        ).encode()
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    as_program = path.startswith(("/api/", "/v1/", "/mcp/"))
    await _request(
        http, server, method, path, tally, key=site.keys[number % 10] if as_program else "", session=site.operator,
        headers=headers, body=body,
    )  # fmt: skip


async def _request(
    http: aiohttp.ClientSession,
    server: Server,
    method: str,
    path: str,
    tally: Tally,
    *,
    key: str = "",
    session: str = "",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> None:
    sent = {**(headers or {})}
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
            if answer.status >= 500:
                tally.failed.append(f"{method} {path[:120]} -> {answer.status}")
            if "event-stream" not in answer.headers.get("Content-Type", ""):
                await answer.read()
    except (aiohttp.ClientError, TimeoutError, ValueError) as exc:
        tally.failed.append(f"{method} {path[:120]} -> {type(exc).__name__} {exc}"[:200])
