"""Hostile text in the names and values of the arguments of tool calls, over MCP and from the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import aiohttp

from benchmarks.resilience.client import Disconnected, connected, run_input
from benchmarks.resilience.hostile.requests import send
from benchmarks.resilience.hostile.tally import FAILURES, Tally
from benchmarks.resilience.hostile.texts import TEXTS, VALUES
from benchmarks.resilience.sites import Server, Site
from tests.mcp.talking import MODERN, OLDER, headers, message

TOOL = "repeat"
# A prompt of this and a number lets the model call the tool with the arguments at that place.
ASKING = "[arguments] "
_RUNS = "/api/v1/tenants/bench/assistants/support/runs/"
_MARK = '"@HOSTILE@"'


def _arguments() -> list[tuple[str, str]]:
    """Return what is hostile in them, and the arguments as JSON."""
    shapes = {
        "value": '{"text": "%s"}',
        "name": '{"text": "x", "%s": 1}',
        "name alone": '{"%s": "x"}',
        "inner name": '{"text": {"%s": "x"}}',
    }
    found = [
        (f"{where}: {name}", shape.replace("%s", text[:4000]))
        for name, text in TEXTS.items()
        for where, shape in shapes.items()
    ]
    return found + [
        (f"{where}: {name}", f'{{"{where}": {value}}}') for name, value in VALUES.items() for where in ("text", "other")
    ]


ARGUMENTS = _arguments()


async def send_arguments(site: Site, server: Server, tally: Tally) -> None:
    """Send all arguments by both versions of MCP, and as a model's calls over the websocket and SSE."""
    members = len(site.keys)
    await asyncio.gather(
        *(_ask(server, site.keys[first], range(first, len(ARGUMENTS), members), tally) for first in range(members))
    )
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(90)) as http:
        for number, (name, arguments) in enumerate(ARGUMENTS):
            key, asking = site.keys[number % members], json.dumps(run_input(f"{ASKING}{number}")).encode()
            await send(http, server, tally, "POST", _RUNS, key=key, body=asking, about=f"a model's arguments, {name}")
            for version in (OLDER, MODERN):
                body = json.dumps(message("tools/call", {"name": TOOL, "arguments": "@HOSTILE@"}, version=version))
                own = {**headers(None, "tools/call", TOOL, version), "Content-Type": "application/json"}
                given = body.replace(_MARK, arguments).encode()
                await send(http, server, tally, "POST", "/mcp/", key=key, headers=own, body=given, about=name)


async def _ask(server: Server, key: str, numbers: Sequence[int], tally: Tally) -> None:
    for number in numbers:
        tally.tries += 1
        name = f"a model's arguments, {ARGUMENTS[number][0]}"
        try:
            async with connected(server.port, key) as client:
                end = await client.ask(f"{ASKING}{number}")
        except (Disconnected, TimeoutError):
            tally.dead.append(name)
            continue
        if end.get("code") in FAILURES:
            tally.failed.append(name)
