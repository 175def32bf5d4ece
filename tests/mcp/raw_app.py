"""An external MCP server that answers exactly what a test says, also what the protocol forbids.

`uvicorn tests.mcp.raw_app:app`, or as a program on standard input and output with the state as its argument.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Json = dict[str, Any]
# `pages` are the results of `tools/list`, `answers` the `result` or `error` of `tools/call` by the name of the tool;
# or, of a program, the `line` with `<id>` for the request's; or, over HTTP, the `status` and `body` of a refusal with
# its `headers`, the `text` of a body with its `type`, or the `events` of a stream. A list has one for each call. Calls
# of the tools in `together` are answered when that many have come. With `needs_token`, there is an OAuth server too,
# whose metadata have the `status`, `text` or `issuer` of `metadata`, and which answers requests of tokens with the
# `status` and `body` of `refused_token`. The server refuses to open a session with those of `refused_session`.
STATE: Json = {
    "is_modern": False,
    "pages": [{"tools": []}],
    "answers": {},
    "together": 0,
    "needs_token": False,
    "metadata": {},
    "refused_token": None,
    "refused_session": None,
}
TOKEN = "canary-0123456789"
LOG: list[Json] = []


def answer(message: Json) -> Json:
    """Return the `result` or `error` for a request."""
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            info = {"name": "raw", "version": "1"}
            return {
                "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
            }
        case "server/discover" if STATE["is_modern"]:
            found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}
            return {"result": {**found, "ttlMs": 0, "cacheScope": "private"}}
        case "tools/list":
            cursor = int(params.get("cursor") or 0)
            return _page(cursor)
        case "tools/call":
            LOG.append({"name": params["name"], "arguments": params.get("arguments")})
            answers = STATE["answers"][params["name"]]
            return dict(answers[len(LOG) - 1] if isinstance(answers, list) else answers)
    return {"error": {"code": -32601, "message": "Method not found"}}


def _page(number: int) -> Json:
    page = STATE["pages"][number]
    if "error" in page or "line" in page:
        return dict(page)
    more = {"nextCursor": str(number + 1)} if number + 1 < len(STATE["pages"]) else {}
    return {"result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **more, **page}}


async def mcp(request: Request) -> Response:
    if request.method != "POST":
        return Response(status_code=405)
    if STATE["needs_token"] and request.headers.get("authorization") != f"Bearer {TOKEN}":
        return Response(status_code=401)
    if (refused := STATE["refused_session"]) is not None:
        return JSONResponse(refused["body"], refused["status"])
    message = await request.json()
    if "id" not in message:
        return Response(status_code=202)
    answered = answer(message)
    while message["method"] == "tools/call" and len(LOG) < STATE["together"]:
        await asyncio.sleep(0.01)
    if "status" in answered:
        return JSONResponse(answered["body"], answered["status"], answered.get("headers"))
    number = str(message["id"])
    if "text" in answered:
        return Response(answered["text"].replace("<id>", number), media_type=answered["type"])
    if "events" in answered:
        events = "".join(f"data: {one}\n\n" for one in answered["events"])
        return Response(events.replace("<id>", number), media_type="text/event-stream")
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], **answered})


async def authorization_server(request: Request) -> Response:
    origin = str(request.base_url).rstrip("/")
    changed = STATE["metadata"]
    if changed.get("status", 200) != 200 or "text" in changed:
        return Response(changed.get("text", ""), changed.get("status", 200))
    found = {"issuer": origin, "authorization_endpoint": f"{origin}/authorize", "token_endpoint": f"{origin}/token"}
    return JSONResponse({**found, "response_types_supported": ["code"], **changed})


async def token(request: Request) -> Response:
    if (refused := STATE["refused_token"]) is not None:
        return Response(refused["body"], refused["status"], media_type="text/html")
    if "scope=admin" in (await request.body()).decode():
        return JSONResponse({"error": "invalid_scope"}, 400)
    return JSONResponse({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600})


async def control(request: Request) -> Response:
    STATE.update(await request.json())
    LOG.clear()
    return JSONResponse(STATE)


async def log(request: Request) -> Response:
    return JSONResponse(LOG)


app = Starlette(
    routes=[
        Route("/mcp", mcp, methods=["GET", "POST", "DELETE"]),
        Route("/control", control, methods=["POST"]),
        Route("/log", log),
        Route("/.well-known/oauth-authorization-server", authorization_server),
        Route("/token", token, methods=["POST"]),
    ]
)

if __name__ == "__main__":
    STATE.update(json.loads(sys.argv[1]))
    for line in sys.stdin:
        sent = json.loads(line)
        if "id" in sent:
            answered = answer(sent)
            message = json.dumps({"jsonrpc": "2.0", "id": sent["id"], **answered})
            sys.stdout.write(answered.get("line", message).replace("<id>", str(sent["id"])) + "\n")
            sys.stdout.flush()
