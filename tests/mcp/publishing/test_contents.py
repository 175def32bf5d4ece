"""Resources and prompts of MCP servers, for a program and as tools of a model."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from assistant.client import ChatClient, McpServer, RemoteFailure, ToolCall
from assistant.providers import ScriptedModel
from tests.docs.snippets import ROOT, blocks
from tests.mcp.outside_app import PNG

pytestmark = pytest.mark.slow


async def test_resources_are_listed_page_by_page_and_read(publishing: McpServer) -> None:
    client = ChatClient(model=ScriptedModel("ok"))
    notes = client.mcp(publishing)
    found = await notes.resources()
    assert [(one.uri, one.name) for one in found[:2]] == [("notes://0", "note 0"), ("notes://1", "note 1")]
    assert len(found) == 6 and found[-1].is_template and found[-1].uri == "notes://{number}"
    assert (await notes.read("notes://3")).content == "[Resource notes://3]\nThis is notes://3."
    picture = await notes.read("notes://picture")
    assert [file.data for file in picture.media] == [PNG]
    with pytest.raises(RemoteFailure):
        await notes.read("notes://none")
    await client.aclose()


async def test_a_resource_is_context_of_a_call(publishing: McpServer) -> None:
    model = ScriptedModel("A dot.")
    client = ChatClient(model=model)
    picture = await client.mcp(publishing).read("notes://picture")
    reply = await client.call("What is on it?", files=picture.media)
    assert model.requests[0].messages[-1].media == picture.media
    assert reply.messages[0].sources
    await client.aclose()


async def test_prompts_are_listed_and_filled_in(publishing: McpServer) -> None:
    model = ScriptedModel("Hello Ann.")
    client = ChatClient(model=model)
    server = client.mcp(publishing)
    (prompt,) = await server.prompts()
    assert [(one.name, one.is_required) for one in prompt.parameters] == [("name", True)]
    messages = await server.prompt("greet", name="Ann")
    assert (await client.call(messages)).text == "Hello Ann."
    assert model.requests[0].messages[-1].content == "Greet Ann."
    assert "publishing" in messages[0].sources[0]  # what the server says is text from outside
    await client.aclose()


async def test_a_model_reads_them_with_tools(publishing: McpServer) -> None:
    calls = [
        ToolCall("", "notes__list_resources", "{}"),
        ToolCall("", "notes__read_resource", '{"uri": "notes://2"}'),
        ToolCall("", "notes__list_prompts", "{}"),
        ToolCall("", "notes__get_prompt", '{"name": "greet", "arguments": {"name": "Bob"}}'),
    ]
    model = ScriptedModel([calls, "Done."])
    server = replace(publishing, prefix="notes", resources=True, prompts=True, only=[])
    client = ChatClient(model=model, tools=[server])
    reply = await client.call("?")
    assert [one.name for one in model.requests[0].tools] == [call.name for call in calls]
    resources, note, prompts, greeting = [call.result or "" for call in reply.tool_calls]
    assert '"uri":"notes://0"' in resources and "This is notes://2." in note
    assert '"name":"greet"' in prompts and greeting == "user: Greet Bob."
    assert all(message.sources for message in reply.messages if message.role == "tool")
    await client.aclose()


async def test_a_server_without_resources_has_none() -> None:
    client = ChatClient(model=ScriptedModel("ok"))
    server = client.mcp(McpServer(command=(sys.executable, "-m", "tests.mcp.outside_app")))
    assert (await server.resources(), await server.prompts()) == ([], [])
    assert "echo" in [one.name for one in await server.tools()]
    await client.aclose()


async def test_the_documents_lines_run(publishing: McpServer) -> None:
    (lines,) = [block.text for block in blocks(ROOT / "docs/chat-client.md", "python") if "read_notes" in block.text]
    names: dict[str, Any] = {"ChatClient": ChatClient, "McpServer": McpServer, "ScriptedModel": ScriptedModel}
    exec(lines, names)
    await names["read_notes"](publishing)
