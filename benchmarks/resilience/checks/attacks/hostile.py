"""Hostile text in every input, on both databases."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

import aiohttp

from benchmarks.processes import started
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import Client, Disconnected, connected, run_input
from benchmarks.resilience.hostile.arguments import ARGUMENTS, ASKING, TOOL, send_arguments
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
    "frame, and binary frames, with a ping after each; names and values of the arguments of tool calls, over MCP and "
    "from the model; messages, titles, and stored arguments and results of tools. The same on SQLite and PostgreSQL."
)
REQUESTS = 2500
FAILED, DEAD, DIFFERENT, UNTOLD = (
    "answers of 500 or above, and internal errors",
    "dead sockets",
    "stored texts that differ between the databases",
    "addresses that were not tried",
)
ADDRESSES = (
    "import django; django.setup(); import json; from tests.isolation.doors import addresses; "
    "print(json.dumps([[one.path, one.parameters] for one in addresses()]), flush=True)"
)


def store_what_comes() -> None:
    """Texts are not cleaned."""
    from assistant.services.runs import run_input as inputs

    inputs.clean_text = lambda text: text  # type: ignore[attr-defined]


def store_otherwise_on_postgres() -> None:
    """The replacement of a character that cannot be stored differs on PostgreSQL."""
    from django.db import connection

    from assistant.services.runs import run_input as inputs

    if connection.vendor == "postgresql":
        clean = inputs.clean_text  # type: ignore[attr-defined]
        inputs.clean_text = lambda text: clean(text).replace("\N{REPLACEMENT CHARACTER}", "?")  # type: ignore[attr-defined]


def close_on_mistakes() -> None:
    """An invalid frame closes the connection."""
    from assistant.websocket.consumer import ChatConsumer

    async def close(self: ChatConsumer, code: str, reason: str) -> None:
        await self.close(1003)

    ChatConsumer._protocol_error = close  # type: ignore[method-assign]


LEAVES_OUT = "an address is left out"
FAULTS = (
    Fault("messages are not cleaned", FAILED, store_what_comes),
    Fault("an invalid frame closes the connection", DEAD, close_on_mistakes),
    Fault("a character is replaced differently on PostgreSQL", DIFFERENT, store_otherwise_on_postgres),
    Fault(LEAVES_OUT, UNTOLD),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    tallies, known = [], set()
    for kind in (SQLITE, POSTGRES):
        with FakeProvider() as provider, testbed.site(kind, provider.url) as site, testbed.serve(site) as server:
            provider.rule(_answer)
            with started([sys.executable, "-c", ADDRESSES], site.env) as process:
                templates: list[tuple[str, list[str]]] = json.loads(process.read_line())
            known = {path for path, _ in templates}
            if testbed.has_fault(LEAVES_OUT):
                templates = templates[1:]
            tallies.append(asyncio.run(_try_all(testbed, site, server, templates)))
            tallies[-1].stored = _stored(site)
    here, there = tallies
    differing = sorted(here.stored ^ there.stored)
    failed, dead = [*here.failed, *there.failed], [*here.dead, *there.dead]
    return [
        Line(FAILED, len(failed), "", 0, beside="; ".join(failed[:5]) or f"of {here.tries + there.tries} tries"),
        Line(DEAD, len(dead), "", 0, beside="; ".join(dead[:5])),
        Line(DIFFERENT, len(differing), "", 0, beside=f"of {len(here.stored)} texts {ascii(differing[:2])[:200]}"),
        Line(UNTOLD, len(known - here.addresses) + len(known - there.addresses), "", 0, beside=f"of {len(known)}"),
    ]


def _answer(request: Recorded) -> Answer:
    text = request.last_text
    if text.startswith(ASKING) and request.messages[-1]["role"] == "user":
        return reply(calls=[(TOOL, ARGUMENTS[int(text.removeprefix(ASKING))][1])])(request)
    if text.startswith("[repeat]") and request.messages[-1]["role"] == "user":
        return reply(calls=[("repeat", '{"text": "' + text.removeprefix("[repeat]") + '"}')])(request)
    return echo(request)


async def _try_all(testbed: Testbed, site: Site, server: Server, templates: Sequence[tuple[str, list[str]]]) -> Tally:
    tally = Tally()
    await _send_texts(site, server, tally)
    await send_arguments(site, server, tally)
    await send_frames(site, server, tally, testbed.scale)
    await send_requests(site, server, tally, templates, testbed.scaled(REQUESTS))
    return tally


async def _send_texts(site: Site, server: Server, tally: Tally) -> None:
    """Send each text as a message by every interface, as a tool's result and as a title."""
    for number, (name, text) in enumerate(TEXTS.items()):
        try:
            async with connected(server.port, site.keys[number % len(site.keys)]) as client:
                await _say(client, tally, number, name, text)
        except (Disconnected, TimeoutError):
            tally.dead.append(f"message: {name}")
        await _post_text(site, server, tally, name, text)


async def _say(client: Client, tally: Tally, number: int, name: str, text: str) -> None:
    thread = f"00000000-0000-4000-8000-{number:012d}"
    for place, content in enumerate((text, "[repeat]" + text.replace("\\", "\\\\").replace('"', r"\"")[:4000])):
        given = run_input("TEXT", thread=thread, message=f"m{number}-{place}")
        await client.send_raw(json.dumps(given).replace("TEXT", content))
        end = await client.until_end(given["runId"])
        tally.tries += 1
        if end.get("code") in FAILURES:
            tally.failed.append(f"message: {name}")


async def _post_text(site: Site, server: Server, tally: Tally, name: str, text: str) -> None:
    """Send a text as a title, and as a message whose answer comes as events, over REST and over /v1."""
    completion = {"model": "support", "stream": True, "messages": [{"role": "user", "content": "TEXT"}]}
    bodies = {
        "/api/v1/tenants/bench/conversations/": {"assistant": "support", "title": "TITLE"},
        "/api/v1/tenants/bench/assistants/support/runs/": run_input("TEXT"),
        "/v1/chat/completions": completion,
    }
    async with aiohttp.ClientSession() as http:
        for path, given in bodies.items():
            body = json.dumps(given).replace("TEXT", text).replace("TITLE", text[:200]).encode()
            await send(http, server, tally, "POST", path, key=site.keys[0], body=body, about=name)


def _stored(site: Site) -> set[tuple[Any, ...]]:
    messages = site.database.rows(
        "SELECT role, content FROM assistant_message m JOIN assistant_conversation c ON c.id = m.conversation_id "
        "WHERE m.message_id LIKE 'm%%-%%' OR m.role <> 'user'"
        if site.kind == POSTGRES
        else "SELECT role, content FROM assistant_message WHERE message_id LIKE 'm%-%' OR role <> 'user'"
    )
    titles = site.database.rows("SELECT 'title', title FROM assistant_conversation")
    results = site.database.rows("SELECT 'result', result FROM assistant_toolcall")
    arguments = site.database.rows("SELECT 'arguments', arguments FROM assistant_toolcall")
    return {*messages, *titles, *results, *arguments}
