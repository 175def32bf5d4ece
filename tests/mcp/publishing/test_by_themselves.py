"""What MCP servers do by themselves: progress, logs, roots, sampling; what they are told; filters as functions."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assistant.client import ChatClient, McpServer, Progress, SamplingRequest, ServerLog, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import InvalidTool, ToolContext

pytestmark = pytest.mark.slow
ANN: dict[str, Any] = {"tenant": {"slug": "acme"}, "user": {"username": "ann"}}


async def result_of(server: McpServer, tool: str, **options: Any) -> str:
    """What the model reads of a call of the tool."""
    context = options.pop("context", ANN)
    model = ScriptedModel([ToolCall("", tool, "{}"), "Done."])
    client = ChatClient(model=model, tools=[server], context=context, **options)
    reply = await client.call("?")
    await client.aclose()
    return str(reply.tool_calls[0].result)


async def test_a_server_is_told_nothing_of_the_context(publishing: McpServer) -> None:
    assert await result_of(publishing, "told") == "{}"


async def test_a_server_is_told_what_is_allowed_and_no_more(publishing: McpServer) -> None:
    server = replace(publishing, shares=["tenant.slug", "user.username", "extra.locale", "extra.absent"])
    context = {**ANN, "locale": "de", "password": "secret"}
    told = json.loads(await result_of(server, "told", context=context))
    assert told == {"tenant-assistant/context": {"tenant.slug": "acme", "user.username": "ann", "extra.locale": "de"}}


async def test_a_servers_tool_declares_no_secrets(publishing: McpServer) -> None:
    with pytest.raises(InvalidTool, match="tool 'told' name key, but it declares none"):
        await result_of(publishing, "told", secrets={"told": {"key": "secret"}})


async def test_what_is_no_json_is_not_told(publishing: McpServer) -> None:
    server = replace(publishing, shares=["extra.connection"])
    result = await result_of(server, "told", context={**ANN, "connection": object()})
    assert "tenant-assistant" not in result and "failed" in result


@pytest.mark.parametrize("shares", [["secret"], ["secrets.key"], ["tenant"]])
def test_unknown_and_secret_parts_cannot_be_allowed(shares: Sequence[str]) -> None:
    with pytest.raises(ValueError, match=r"Choices: tenant\.id, .*extra\.<name>\."):
        McpServer(url="https://mcp.example.com/mcp", shares=shares)


async def test_a_function_chooses_the_tools(publishing: McpServer) -> None:
    model = ScriptedModel("ok")
    server = replace(publishing, only=lambda definition: definition.is_read_only and definition.name.endswith("_note"))
    client = ChatClient(model=model, tools=[server])
    await client.call("?")
    await client.aclose()
    assert [one.name for one in model.requests[0].tools] == ["read_note"]


async def test_a_function_that_fails_offers_nothing(publishing: McpServer) -> None:
    model = ScriptedModel("ok")
    client = ChatClient(model=model, tools=[replace(publishing, only=lambda definition: 1 / 0)])
    await client.call("?")
    await client.aclose()
    assert not model.requests[0].tools


async def test_progress_and_logs_reach_the_program(publishing: McpServer) -> None:
    reported: list[tuple[Progress, str]] = []
    lines: list[tuple[ServerLog, str]] = []

    async def on_log(line: ServerLog, context: ToolContext | None) -> None:
        lines.append((line, context.user.username if context is not None else ""))

    def on_progress(progress: Progress, context: ToolContext) -> None:
        # The result comes meanwhile.
        time.sleep(0.2)
        reported.append((progress, context.user.username))

    await result_of(
        publishing,
        "work",
        on_progress=on_progress,
        on_log=on_log,
        log_level="warning",
    )
    assert reported == [(Progress("work", 1, 2, "half"), "ann")]
    ((line, user),) = lines
    assert (line.logger, line.level, line.data) == ("printer", "warning", {"left": 3, "of": "paper"})
    assert "publishing" in line.server and user == "ann"


async def test_a_line_of_the_log_before_the_result_is_handled_when_the_call_returns(publishing: McpServer) -> None:
    lines: list[object] = []

    async def on_log(line: ServerLog, context: ToolContext | None) -> None:
        await asyncio.sleep(0.2)
        lines.append(line.data)

    model = ScriptedModel([ToolCall("", "work", "{}"), "Done."])
    client = ChatClient(model=model, tools=[publishing], on_log=on_log, log_level="warning")
    await client.call("?")
    assert lines == [{"left": 3, "of": "paper"}]
    await client.aclose()


async def test_a_handler_that_fails_costs_no_call(publishing: McpServer) -> None:
    def fail_at_progress(progress: Progress, context: ToolContext) -> None:
        raise OSError

    def fail_at_log(line: ServerLog, context: ToolContext | None) -> None:
        raise OSError

    assert await result_of(publishing, "work", on_progress=fail_at_progress, on_log=fail_at_log) == "worked"


async def test_roots_are_told_only_if_given(publishing: McpServer, tmp_path: Path) -> None:
    assert await result_of(publishing, "roots") == "There are none."
    folders = await result_of(publishing, "roots", roots=[tmp_path, str(tmp_path / "a b"), "file:///srv/shop"])
    assert folders == f"{tmp_path.as_uri()}, {tmp_path.as_uri()}/a%20b, file:///srv/shop"


@pytest.mark.parametrize("roots", [["shop"], [Path("shop")], ["https://example.com"]])
def test_roots_are_whole_paths(roots: Sequence[str | Path]) -> None:
    with pytest.raises(ValueError, match="absolute paths"):
        ChatClient(model=ScriptedModel("ok"), roots=roots)


async def test_sampling_is_refused_unless_a_function_is_given(publishing: McpServer) -> None:
    assert await result_of(publishing, "chat") == "It cannot."


async def test_a_function_answers_for_a_model(publishing: McpServer) -> None:
    own = ScriptedModel("Seven.")

    async def ask(request: SamplingRequest, context: ToolContext) -> str:
        assert (request.system, request.max_tokens, context.user.username) == ("Be brief.", 50, "ann")
        return (await ChatClient(model=own, system=request.system).call(request.messages)).text

    assert await result_of(publishing, "chat", on_sampling=ask) == "Seven."
    assert own.requests[0].messages[-1].content == "Question 0?"


async def test_a_server_cannot_ask_for_ever(publishing: McpServer) -> None:
    asked: list[str] = []

    def ask(request: SamplingRequest, context: ToolContext) -> str:
        asked.append(request.messages[0].content)
        return "yes"

    assert "yes; yes" not in await result_of(publishing, "chat_on", on_sampling=ask)
    assert len(asked) == 10


async def test_none_refuses(publishing: McpServer) -> None:
    assert await result_of(publishing, "chat", on_sampling=lambda request, context: None) != "None"
