"""Hostile text at every entrance, on both databases."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

import aiohttp

from benchmarks.processes import started
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Ground
from benchmarks.resilience.client import connected, run_input
from benchmarks.resilience.hostile.frames import send_frames
from benchmarks.resilience.hostile.requests import send, send_requests
from benchmarks.resilience.hostile.tally import FAILURES, Tally
from benchmarks.resilience.hostile.texts import TEXTS
from benchmarks.resilience.sites import POSTGRES, SQLITE, Server, Site
from tests.fake_answers import Answer, Recorded, echo, reply
from tests.fake_provider import FakeProvider

TITLE = "Hostile text"
HOW = (
    "Every address of the site, read from its URL configuration (pages, admin, REST, /v1, MCP), with hostile text in "
    "its parameters, query, headers and body, as a superuser and with an API key; every field of every websocket "
    "frame, and binary ones, with a ping after each; messages, titles and results of tools that are stored. The same "
    "on SQLite and PostgreSQL."
)
REQUESTS = 2500
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


def store_what_comes() -> None:
    """Texts are taken as they come."""
    from assistant.services import inputs

    inputs.clean_text = lambda text: text


FAULTS = (Fault("messages are taken as they come", FAILED, store_what_comes),)


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
    await send_frames(site, server, tally, ground.scale)
    await send_requests(site, server, tally, templates, ground.many(REQUESTS))
    return tally


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
                if end.get("code") in FAILURES:
                    tally.failed.append(f"message: {name}")
        body = f'{{"assistant": "support", "title": "{text[:200]}"}}'.encode()
        async with aiohttp.ClientSession() as http:
            path = "/api/v1/tenants/bench/conversations/"
            await send(http, server, tally, "POST", path, key=site.keys[0], body=body)


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
