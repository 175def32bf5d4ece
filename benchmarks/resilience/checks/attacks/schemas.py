"""JSON Schemas of callers and external MCP servers that are made to block a process."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.request import Request, urlopen

import aiohttp

from benchmarks.processes import started
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import ENDINGS, connected, run_input
from benchmarks.resilience.hostile.schemas import OF_EACH, Schema, hostile_schemas
from benchmarks.resilience.sites import SQLITE, Server, Site
from benchmarks.targets import QUIET, free_port
from tests.fake_provider import FakeProvider

TITLE = "Hostile schemas"
HOW = (
    "Generated schemas that cost (patterns with repeats, chains of references, alternatives that double, anchors, "
    "enumerations, nesting, addresses and files) as `forwardedProps.outputSchema` and as a client-side tool's "
    "parameters, by websocket and REST, as a tool's parameters on `/v1`, and as the output schemas that an outside MCP "
    "server lists. The process's own watchdog says how long its event loop was held at the longest."
)
HELD, TAKEN = "longest that the event loop was held", "hostile schemas that were taken"
TOKEN = "of-the-check-of-schemas"
_RUNS = "/api/v1/tenants/bench/assistants/support/runs/"


def check_no_bounds() -> None:
    """Schemas are compiled whatever they cost."""
    from assistant.contrib.openai_api.services import completion
    from assistant.services.runs import client_tools
    from assistant.toolkit.schema import check
    from assistant.toolkit.schema.bounds import Cost

    check.cost_of = lambda schema: Cost(1, 0, 1, 0)  # type: ignore[attr-defined]
    check.check_size = client_tools.check_size = completion.check_size = lambda schema: None  # type: ignore[attr-defined]


def accept_every_schema() -> None:
    """No schema is refused for exceeding the bounds."""
    from assistant.core.llm import typed_output
    from assistant.toolkit.definition import tool

    typed_output.schema_error = tool.schema_error = lambda schema: ""  # type: ignore[attr-defined]


FAULTS = (
    Fault("schemas have no bounds", HELD, check_no_bounds),
    Fault("schemas beyond the bounds are taken", TAKEN, accept_every_schema),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    env = {"ASSISTANT_METRICS_TOKEN": TOKEN, "ASSISTANT_INTERNAL_HOSTS": "127.0.0.1"}
    origin = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "uvicorn", "--port", str(port), *QUIET, "tests.mcp.outside_app:app"]
    with (
        FakeProvider() as provider,
        started(command) as lister,
        testbed.site(SQLITE, provider.url, **env) as site,
        testbed.serve(site) as process,
    ):
        lister.wait_for(f"{origin}/log")
        return asyncio.run(_measure(testbed, site, process, origin))


async def _measure(testbed: Testbed, site: Site, process: Server, origin: str) -> Sequence[Line]:
    schemas = [one for seed in range(testbed.scaled(OF_EACH)) for one in hostile_schemas(seed).items()]
    plain: list[tuple[str, Schema]] = [("plain", {"type": "object", "properties": {"a": {"type": "string"}}})]
    plain *= len(schemas)
    ways: dict[str, Callable[[Sequence[tuple[str, Schema]]], Awaitable[int]]] = {
        "websocket": lambda given: _by_websocket(site, process, given),
        "REST": lambda given: _by_rest(site, process, given),
        "/v1": lambda given: _by_completions(site, process, given),
    }
    held: dict[str, float] = {}
    taken = 0
    await ways["websocket"](plain)
    _longest(process)
    await ways["websocket"](plain)
    noise = _longest(process)
    for name, way in ways.items():
        taken += await way(schemas)
        held[name] = _longest(process)
    taken += await _by_listing(site, process, origin, [schema for _, schema in schemas])
    held["an MCP server"] = _longest(process)
    beside = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in held.items())
    return [
        Line(HELD, max(held.values()) * 1000, "ms", 100, beside=f"{beside}; with plain schemas {noise * 1000:.0f} ms"),
        Line(TAKEN, taken, "", 0, beside=f"of {len(schemas)} in each of {len(held)} ways"),
    ]


def _longest(process: Server) -> float:
    """Return the longest time in seconds that the loop was held since the last request, as the process measured it."""
    time.sleep(0.3)
    request = Request(f"{process.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    with urlopen(request, timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line for line in lines if line.startswith("assistant_loop_longest_delay_seconds ")).split()[1])


async def _by_websocket(site: Site, process: Server, schemas: Sequence[tuple[str, Schema]]) -> int:
    """Return how many schemas were accepted, as the answer's schema and as a tool's parameters."""
    taken = 0
    for number, (_, schema) in enumerate(schemas):
        async with connected(process.port, site.keys[number % len(site.keys)]) as client:
            for fields in _fields(schema):
                await client.send(run_input("Hello", **fields))
                # A frame that nests too deeply is refused before its run is known.
                end = await client.until(lambda one: one["type"] in ENDINGS or one.get("name") == "protocol_error")
                taken += (end.get("code") or end.get("value", {}).get("code")) not in {"invalid_input", "invalid_json"}
    return taken


def _fields(schema: Schema) -> Sequence[dict[str, Any]]:
    return (
        {"forwardedProps": {"outputSchema": schema}},
        {"tools": [{"name": "page", "description": "Turn the page.", "parameters": schema}]},
    )


async def _by_rest(site: Site, process: Server, schemas: Sequence[tuple[str, Schema]]) -> int:
    bodies = [run_input("Hello", **fields) for _, schema in schemas for fields in _fields(schema)]
    return await _posted(site, process, _RUNS, bodies, b"invalid_input")


async def _by_completions(site: Site, process: Server, schemas: Sequence[tuple[str, Schema]]) -> int:
    bodies: list[dict[str, Any]] = [
        {
            "model": "support",
            "messages": [{"role": "user", "content": "Hello"}],
            "tools": [{"type": "function", "function": {"name": "page", "parameters": schema}}],
        }
        for _, schema in schemas
    ]
    return await _posted(site, process, "/v1/chat/completions", bodies, b"invalid_request_error")


async def _posted(site: Site, process: Server, path: str, bodies: Sequence[dict[str, Any]], refused: bytes) -> int:
    taken = 0
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(120)) as http:
        for number, body in enumerate(bodies):
            headers = {"Authorization": f"Bearer {site.keys[number % len(site.keys)]}"}
            async with http.post(f"{process.url}{path}", json=body, headers=headers) as answer:
                taken += refused not in await answer.read()
    return taken


async def _by_listing(site: Site, process: Server, origin: str, schemas: Sequence[Schema]) -> int:
    """Test the connection to a server that lists tools with these schemas; return how many tools were stored."""
    state = json.dumps({"schemas": list(schemas)}).encode()
    await asyncio.to_thread(lambda: urlopen(Request(f"{origin}/control", state, method="POST"), timeout=60).close())
    [(tenant,)] = site.database.rows("SELECT id FROM assistant_tenant WHERE slug = %s", "bench")
    values = {
        "tenant_id": tenant, "name": "outside", "prefix": "out", "url": f"{origin}/mcp", "command": "", "headers": "",
        "credentials_of": "tenant", "oauth_issuer": "", "oauth_client_id": "", "oauth_client_secret": "",
        "oauth_scope": "", "context_keys": "[]", "timeout_seconds": 30, "is_active": True, "health": "unknown",
        "health_detail": "", "failures": 0, "created_at": "2026-01-01 00:00:00",
    }  # fmt: skip
    marks = ", ".join(["%s"] * len(values))
    site.database.run(
        f"INSERT INTO assistant_mcp_servers_mcpserver ({', '.join(values)}) VALUES ({marks})", *values.values()
    )
    [(number,)] = site.database.rows("SELECT id FROM assistant_mcp_servers_mcpserver WHERE name = %s", "outside")
    page = f"{process.url}/admin/assistant_mcp_servers/mcpserver/{number}/"
    async with aiohttp.ClientSession(cookies={"sessionid": site.operator}) as http:
        async with http.get(f"{page}change/") as answer:
            cookies = {"csrftoken": answer.cookies["csrftoken"].value}
        data, headers = {"csrfmiddlewaretoken": cookies["csrftoken"]}, {"Referer": page}
        async with http.post(f"{page}try/", data=data, headers=headers, cookies=cookies) as answer:
            answer.raise_for_status()
    stored = site.database.rows("SELECT name FROM assistant_mcp_servers_mcptool WHERE server_id = %s", number)
    if not stored:
        raise RuntimeError("The server's own tools were not listed.")
    return sum(json.dumps(name).startswith('"made_') for (name,) in stored)
