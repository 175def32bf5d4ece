"""Talks to an MCP server with a Python client, and prints what it got as JSON.

`python mcp_python.py CLIENT MODE URL`, with the key in `API_KEY`. CLIENT is `sdk` or `fastmcp`, MODE theirs.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from typing import Any

import httpx2

# How the user answers what the server asks, in this order.
SAYS = [{"action": "accept", "content": {"approved": True}}, {"action": "decline"}]
asked: list[str] = []
KEY = {"Authorization": f"Bearer {os.environ['API_KEY']}"}


@asynccontextmanager
async def sdk(url: str, mode: str, *, can_ask: bool):
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp_types import ElicitResult

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(**SAYS[len(asked) - 1])

    async with httpx2.AsyncClient(headers=KEY, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=answer if can_ask else None) as client:

            async def call(name: str, progress: Any = None, **arguments: Any) -> Any:
                return await client.call_tool(name, arguments, progress_callback=progress)

            yield client.protocol_version, [tool.name for tool in (await client.list_tools()).tools], call


@asynccontextmanager
async def fastmcp(url: str, mode: str, *, can_ask: bool):
    from fastmcp import Client
    from fastmcp.client.elicitation import ElicitResult
    from fastmcp.client.transports import StreamableHttpTransport

    async def answer(message: str, response_type: Any, params: Any, context: Any) -> Any:
        asked.append(message)
        said = SAYS[len(asked) - 1]
        return said["content"] if said["action"] == "accept" else ElicitResult(action=said["action"])

    transport = StreamableHttpTransport(url, headers=KEY)
    async with Client(transport, mode=mode, elicitation_handler=answer if can_ask else None) as client:

        async def call(name: str, progress: Any = None, **arguments: Any) -> Any:
            return await client.call_tool_mcp(name, arguments, progress_handler=progress)

        yield client.protocol_version, [tool.name for tool in await client.list_tools()], call


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


async def failure(call: Any, name: str, **arguments: Any) -> str:
    """What the caller of a tool learns of its failure."""
    try:
        result = await call(name, **arguments)
    except Exception as exc:
        return f"{type(exc).__name__}: {exc}"
    return f"error: {text_of(result)}" if result.is_error else f"no error: {text_of(result)}"


async def talk(client: Any, mode: str, url: str) -> dict[str, Any]:
    reports: list[list[Any]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        reports.append([done, total, message])

    seen: dict[str, Any] = {}
    async with client(url, mode, can_ask=True) as (protocol, tools, call):
        seen |= {"protocol": protocol, "tools": tools}
        seen["me"] = (await call("who_am_i")).structured_content["username"]
        seen["count"] = (await call("count_to", progress, number=3)).structured_content["result"]
        seen["progress"] = reports
        seen["approved"] = text_of(await call("erase", what="the disk"))
        seen["declined"] = await failure(call, "erase", what="the tape")
        seen["parallel"] = [
            text_of(one) for one in await asyncio.gather(*(call("nap", seconds=0.3) for _ in range(20)))
        ]
        seen["errors"] = {
            "unknown": await failure(call, "no_such_tool"),
            "arguments": await failure(call, "count_to", number="many"),
            "broken": await failure(call, "break_down"),
            "slow": await failure(call, "take_too_long"),
        }
    seen["asked"] = asked
    async with client(url, mode, can_ask=False) as (_, _, call):
        seen["mute"] = await failure(call, "erase", what="the disk")
    KEY["Authorization"] = "Bearer wrong"
    try:
        async with client(url, mode, can_ask=False):
            seen["stranger"] = "let in"
    except BaseException as exc:
        seen["stranger"] = "refused" if not isinstance(exc, KeyboardInterrupt) else "interrupted"
    return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(talk({"sdk": sdk, "fastmcp": fastmcp}[sys.argv[1]], *sys.argv[2:]))))
