"""The program that the official conformance suite runs as an MCP client: our own client module, and nothing besides.

The suite starts a server for each scenario and runs `python -m tests.mcp.conformance.client URL`, with the scenario's
values in MCP_CONFORMANCE_CONTEXT.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
from mcp.client.session import ClientRequestContext

from assistant.mcp_client import Endpoint, OAuthClient, RemoteFailure, connect
from assistant.mcp_client.session import RemoteSession
from assistant.toolkit.guards.url_guard import UrlGuard

CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))


async def agree(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Somebody who leaves every field of a form as it is offered."""
    schema = getattr(params, "requested_schema", None) or {}
    properties = schema.get("properties", {})
    given = {name: field["default"] for name, field in properties.items() if "default" in field}
    given |= {name: _something(properties[name]) for name in schema.get("required", ()) if name not in given}
    return types.ElicitResult(action="accept", content=given)


def _something(field: dict[str, Any]) -> Any:
    return {"boolean": True, "integer": 1, "number": 1.0}.get(field.get("type", ""), "yes")


def arguments_for(schema: Any) -> dict[str, Any]:
    """A value for every parameter that a tool needs."""
    properties = schema.get("properties", {})
    return {name: _something(properties.get(name, {})) for name in schema.get("required", properties)}


async def try_tools(session: RemoteSession) -> None:
    """Call every tool that is listed, or those that the scenario names."""
    wanted = CONTEXT.get("toolCalls") or [
        {"name": name, "arguments": arguments_for(tool.input_schema)} for name, tool in session.tools.items()
    ]
    for call in wanted:
        try:
            result = await session.call(call["name"], call.get("arguments") or {})
            print(call["name"], result)
        except RemoteFailure as failure:
            print(call["name"], failure.kind, failure.detail)


def oauth(url: str) -> OAuthClient | None:
    """The client that the scenario has registered beforehand, if it has; its issuer an operator would look up."""
    if not {"client_id", "client_secret"} <= CONTEXT.keys():
        return None
    parts = urlsplit(url)
    published = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    with urllib.request.urlopen(published, timeout=30) as answer:
        issuer = json.load(answer)["authorization_servers"][0]
    return OAuthClient(CONTEXT["client_id"], CONTEXT["client_secret"], issuer)


async def main(url: str) -> None:
    endpoint = Endpoint(url=url, oauth=oauth(url), guard=UrlGuard(allow_loopback=True))
    async with connect(endpoint, elicitation=agree) as session:
        print(session.protocol_version, list(session.tools))
        await try_tools(session)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
