"""MCP servers as a source of a client's tools."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from assistant.client import ChatClient, McpServer, RemoteFailure, RemoteToolError, RunFailed, ToolCall, mcp_servers
from assistant.providers import ScriptedModel
from assistant.toolkit import InvalidTool, Tool, tool
from tests.mcp.outside import Outside

ECHO = ToolCall("", "echo", '{"text": "hello"}')
PROGRAM = (sys.executable, "-m", "tests.mcp.outside_app")


@tool
def echo(text: str) -> str:
    """Say it here."""
    return text


def client(*turns: object, **options: object) -> tuple[ChatClient, ScriptedModel]:
    model = ScriptedModel(turns)  # type: ignore[arg-type]
    return ChatClient(model=model, **options), model  # type: ignore[arg-type]


async def test_tools_of_a_server_at_a_url_are_offered_and_run(outsider: Outside) -> None:
    asking, model = client(ECHO, "Done.", ECHO, "Done.", tools=[McpServer(url=outsider.url)])
    reply = await asking.call("Say it")
    assert reply.tool_calls[0].result == "hello"
    assert {"echo", "whoami"} <= {offered.name for offered in model.requests[0].tools}
    assert reply.messages[-1].sources  # what an external server says is text from outside
    assert (await asking.call("Again")).tool_calls[0].result == "hello"
    await asking.aclose()


async def test_headers_go_with_every_request(outsider: Outside) -> None:
    outsider.be(token="open sesame")
    server = McpServer(url=outsider.url, headers={"Authorization": "Bearer open sesame"}, only=["echo"])
    asking, model = client(ECHO, "Done.", tools=[server])
    assert (await asking.call("Say it")).tool_calls[0].result == "hello"
    assert [offered.name for offered in model.requests[0].tools] == ["echo"]
    assert "sesame" not in repr(server)
    await asking.aclose()
    asking, _ = client("Done.", tools=[McpServer(url=outsider.url)])
    with pytest.raises(RemoteFailure, match="did not accept our credentials"):
        await asking.call("Say it")


def yields(definition: Any) -> Any:
    yield False


async def test_a_choice_of_tools_that_yields_chooses_none(outsider: Outside) -> None:
    with pytest.raises(TypeError, match="only of an MCP server is a generator"):
        McpServer(url=outsider.url, only=yields)
    server = McpServer(url=outsider.url, only=lambda definition: yields(definition))  # noqa: PLW0108 - no generator itself
    asking, model = client("Done.", tools=[server])
    await asking.call("Hi")
    await asking.aclose()
    assert not model.requests[0].tools


@pytest.mark.slow
async def test_a_program_is_a_server_too() -> None:
    asking, _ = client(ToolCall("", "out__echo", '{"text": "hello"}'), "Done.", tools=[echo])
    reply = await asking.call("Say it", tools=[echo, McpServer(command=PROGRAM, prefix="out")])
    assert reply.tool_calls[0].result == "hello"
    await asking.aclose()


def test_each_event_loop_has_sessions_of_its_own(outsider: Outside) -> None:
    asking, _ = client(ECHO, "Done.", ECHO, "Done.", tools=[McpServer(url=outsider.url)])
    assert [asking.call_sync("Say it").tool_calls[0].result for _ in range(2)] == ["hello"] * 2


async def test_two_tools_of_one_name_are_refused(outsider: Outside) -> None:
    asking, _ = client("x", tools=[echo, McpServer(url=outsider.url)])
    with pytest.raises(InvalidTool, match="echo"):
        await asking.call("Say it")
    await asking.aclose()


async def test_calls_can_wait_for_a_person(outsider: Outside) -> None:
    asking, _ = client(ECHO, tools=[McpServer(url=outsider.url, requires_approval=True)])
    assert (await asking.call("Say it")).needs_approval
    await asking.aclose()


async def test_a_change_that_is_not_announced_is_found_and_told(
    outsider: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_servers, "LISTING_SECONDS", -1.0)
    told: list[tuple[McpServer, list[str]]] = []
    server = McpServer(url=outsider.url, only=["echo"])

    def on_tools_changed(changed: McpServer, tools: Sequence[Tool]) -> None:
        told.append((changed, [f"{one.name}: {one.description}" for one in tools]))

    asking, model = client("Hi.", "Hi.", "Hi.", tools=[server], on_tools_changed=on_tools_changed)
    await asking.call("?")
    await asking.call("?")
    assert not told
    outsider.be(description="Changed.", announces=False)
    await asking.call("?")
    assert told == [(server, ["echo: Changed."])]
    assert model.requests[-1].tools[0].description == "Changed."
    await asking.aclose()


async def test_a_change_before_the_subscription_stands_is_told(outsider: Outside) -> None:
    told: list[list[str]] = []
    server = McpServer(url=outsider.url, only=["echo"])
    asking, _ = client(
        *["Hi."] * 200,
        tools=[server],
        on_tools_changed=lambda server, tools: told.append([one.description for one in tools]),
    )
    await asking.call("?")
    outsider.be(description="Changed.")
    for _ in range(199):
        await asking.call("?")
        if told:
            break
        await asyncio.sleep(0.05)
    await asking.aclose()
    assert told == [["Changed."]]


async def test_a_server_that_cannot_be_reached_is_named_as_such() -> None:
    asking, _ = client("x", tools=[McpServer(url="http://127.0.0.1:9/mcp")])
    with pytest.raises(RemoteFailure, match="cannot be reached"):
        await asking.call("Say it")


@pytest.mark.parametrize("options", [{}, {"url": "http://a/mcp", "command": PROGRAM}, {"command": "python x.py"}])
def test_a_server_has_a_url_or_a_command(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="either a URL, or a command"):
        McpServer(**options)  # type: ignore[arg-type]


async def _says_no(*given: object) -> bool:
    return False


@pytest.mark.parametrize("value", [_says_no, lambda: False, "no", None])
def test_whether_a_server_asks_first_is_yes_or_no(value: Any) -> None:
    assert McpServer(url="https://mcp.example/", requires_approval=True).requires_approval
    with pytest.raises(TypeError, match="requires_approval of an MCP server must be True or False"):
        McpServer(url="https://mcp.example/", requires_approval=value)


async def test_an_error_result_of_an_mcp_server_can_be_an_exception(outsider: Outside) -> None:
    call = ToolCall("", "fail", "{}")

    def told(exc: Exception) -> str:
        assert isinstance(exc, RemoteToolError)
        return f"{exc.tool} says: {exc}"

    def asking(raises: bool) -> ChatClient:
        return client(call, "ok", tools=[McpServer(url=outsider.url, raises_errors=raises)])[0]

    read = await asking(False).call("?")
    raised = await asking(True).call("?", on_error={RemoteToolError: told})
    assert raised.tool_calls[0].result == f"fail says: {read.tool_calls[0].result}"
    with pytest.raises(RunFailed) as failed:
        await asking(True).call("?", on_error="raise")
    assert isinstance(failed.value.__cause__, RemoteToolError)


async def test_a_server_never_gets_the_fields_of_the_clients_augmentation(outsider: Outside) -> None:
    class Reasons(BaseModel):
        why: str

    call = ToolCall("", "echo", '{"text": "hello", "why": "Bob asked"}')
    server = McpServer(url=outsider.url, only=["echo"])
    asking, model = client(call, "Done.", tools=[server], augmentation=Reasons)
    reply = await asking.call("Say it")
    assert list(model.requests[0].tools[0].parameters["properties"]) == ["why", "text"]
    assert (reply.tool_calls[0].result, reply.tool_calls[0].fields) == ("hello", {"why": "Bob asked"})
    await asking.aclose()
