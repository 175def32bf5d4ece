"""An external MCP server with resources and prompts, which logs, and asks for roots and for answers of a model.

`uvicorn tests.mcp.publishing.publishing_app:app`; or as a program, on standard input and output.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.mcp.outside_app import MODERN, PNG

Context = ServerRequestContext[Any, Any]
ANY = {"type": "object", "properties": {}}
STATE: dict[str, Any] = {"is_older": False}
LOG: list[dict[str, Any]] = []
TOOLS = ("read_note", "delete_note", "told", "chat", "roots", "work", "chat_on")


def text(content: str) -> types.TextContent:
    return types.TextContent(type="text", text=content)


def said(content: str) -> types.CallToolResult:
    return types.CallToolResult(content=[text(content)])


async def on_list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    tools = [
        types.Tool(
            name=name,
            description=f"Does {name}.",
            input_schema=ANY,
            annotations=types.ToolAnnotations(read_only_hint=name != "delete_note"),
        )
        for name in TOOLS
    ]
    return types.ListToolsResult(tools=tools, ttl_ms=0, cache_scope="private")


async def on_list_resources(context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    start = int(params.cursor) if params and params.cursor else 0
    resources = [
        types.Resource(uri=f"notes://{number}", name=f"note {number}\u200b", mime_type="text/plain")
        for number in range(start, min(start + 2, 5))
    ]
    more = str(start + 2) if start + 2 < 5 else None
    return types.ListResourcesResult(resources=resources, next_cursor=more, ttl_ms=0, cache_scope="private")


async def on_list_templates(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(uri_template="notes://{number}", name="a note")
    return types.ListResourceTemplatesResult(resource_templates=[template], ttl_ms=0, cache_scope="private")


async def on_read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    contents: list[Any]
    if uri == "notes://picture":
        contents = [types.BlobResourceContents(uri=uri, blob=base64.b64encode(PNG).decode(), mime_type="image/png")]
    elif uri == "notes://none":
        raise MCPError(code=-32002, message="There is no such note.")
    else:
        contents = [types.TextResourceContents(uri=uri, text=f"This is {uri}.\u200b")]
    return types.ReadResourceResult(contents=contents, ttl_ms=0, cache_scope="private")


async def on_list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    argument = types.PromptArgument(name="name", description="Whom to greet.", required=True)
    prompt = types.Prompt(name="greet", description="Greets.", arguments=[argument])
    return types.ListPromptsResult(prompts=[prompt], ttl_ms=0, cache_scope="private")


async def on_get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    name = (params.arguments or {}).get("name", "")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text(f"Greet {name}.\u200b"))])


def sampled(content: str) -> types.CreateMessageRequestParams:
    return types.CreateMessageRequestParams(
        messages=[types.SamplingMessage(role="user", content=text(content))], max_tokens=50, system_prompt="Be brief."
    )


async def on_call_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    meta = {key: value for key, value in (params.meta or {}).items() if key.startswith("tenant-assistant")}
    declared = context.session.client_capabilities
    can_sample = declared is not None and declared.sampling is not None
    can_list = declared is not None and declared.roots is not None
    LOG.append({"name": params.name, "meta": meta, "sampling": can_sample, "roots": can_list})
    is_modern = context.protocol_version.encode() == MODERN
    if params.name == "told":
        return said(json.dumps(meta))
    if params.name == "work":
        await context.session.report_progress(1, 2, "half")
        log = context.session.send_log_message
        await log("debug", "too small to tell", related_request_id=context.request_id)
        await log("warning", {"left": 3, "of": "paper\u200b"}, "printer", related_request_id=context.request_id)
        return said("worked")
    if params.name == "chat":
        return await chat(context, params, is_modern=is_modern, times=1) if can_sample else said("It cannot.")
    if params.name == "chat_on":
        return await chat(context, params, is_modern=is_modern, times=12)
    if params.name == "roots":
        return await roots(context, params, is_modern=is_modern) if can_list else said("There are none.")
    return said("Done.")


async def chat(
    context: Context, params: types.CallToolRequestParams, *, is_modern: bool, times: int
) -> types.CallToolResult | types.InputRequiredResult:
    """Ask for answers of a model, one after the other."""
    if is_modern:
        answers: list[str] = json.loads(params.request_state) if params.request_state else []
        answers += [answer.content.text for answer in (params.input_responses or {}).values()]  # type: ignore[union-attr]
        if len(answers) == times:
            return said("; ".join(answers))
        wish = types.CreateMessageRequest(params=sampled(f"Question {len(answers)}?"))
        return types.InputRequiredResult(input_requests={"q": wish}, request_state=json.dumps(answers))
    answers = []
    for number in range(times):
        request = types.CreateMessageRequest(params=sampled(f"Question {number}?"))
        try:
            answer = await context.session.send_request(request, types.CreateMessageResult)
        except MCPError as exc:
            return said(f"refused after {len(answers)}: {exc}")
        answers.append(answer.content.text)  # type: ignore[union-attr]
    return said("; ".join(answers))


async def roots(
    context: Context, params: types.CallToolRequestParams, *, is_modern: bool
) -> types.CallToolResult | types.InputRequiredResult:
    if not is_modern:
        listed = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
        return said(", ".join(str(root.uri) for root in listed.roots))
    if params.input_responses:
        (listed,) = params.input_responses.values()  # type: ignore[assignment]
        return said(", ".join(str(root.uri) for root in listed.roots))
    return types.InputRequiredResult(input_requests={"q": types.ListRootsRequest()}, request_state="s")


async def on_set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    LOG.append({"level": params.level})
    return types.EmptyResult()


async def control(request: Request) -> Response:
    wanted = await request.json()
    LOG.clear()
    STATE.update({name: wanted[name] for name in STATE if name in wanted})
    return JSONResponse(STATE)


async def log(request: Request) -> Response:
    return JSONResponse(LOG)


server = Server(
    "publishing",
    version="1",
    on_list_tools=on_list_tools,
    on_call_tool=on_call_tool,
    on_list_resources=on_list_resources,
    on_list_resource_templates=on_list_templates,
    on_read_resource=on_read_resource,
    on_list_prompts=on_list_prompts,
    on_get_prompt=on_get_prompt,
    on_set_logging_level=on_set_level,
)
inner = server.streamable_http_app(
    custom_starlette_routes=[Route("/control", control, methods=["POST"]), Route("/log", log)]
)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """The server, which may refuse the newest protocol."""
    if STATE["is_older"] and dict(scope.get("headers", ())).get(b"mcp-protocol-version") == MODERN:
        await Response("Bad Request: Unsupported protocol version", status_code=400)(scope, receive, send)
        return
    await inner(scope, receive, send)


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
