"""A tool that needs input of an MCP client, called in a chat."""

from __future__ import annotations

import pytest
from mcp_types import ElicitRequest, ElicitRequestFormParams

from assistant.client import ChatClient, ToolCall
from assistant.contrib.mcp_server.elicitation import InputNeeded, McpCaller
from assistant.models import ToolCall as StoredCall
from assistant.providers import ScriptedModel
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester, answer_with
from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import Registry, ToolContext, tool
from tests.base import Cast

TOLD = "This tool needs input that only a client of the MCP server can be asked for."


def _needed() -> InputNeeded:
    form = {"type": "object", "properties": {"seat": {"type": "string"}}}
    asked = ElicitRequestFormParams(message="Which seat?", requested_schema=form)
    return InputNeeded({"seat": ElicitRequest(params=asked)})


@tool(enabled_by_default=True)
def book_seat(context: ToolContext) -> object:
    """Book a seat."""
    return _needed()


@tool
async def book_seat_soon() -> object:
    """Book a seat."""
    return _needed()


@pytest.mark.parametrize("function", [book_seat, book_seat_soon])
async def test_the_model_of_a_script_reads_that_nobody_can_be_asked(function: object) -> None:
    model = ScriptedModel([ToolCall("", getattr(function, "name"), "{}"), "ok"])  # noqa: B009 - a tool of either kind
    reply = await ChatClient(model=model, tools=[function]).call("A seat, please")
    assert reply.tool_calls[0].error == TOLD


@pytest.mark.django_db
@pytest.mark.usefixtures("provider")
def test_the_model_of_a_tenants_run_reads_it_too(cast: Cast) -> None:
    model = ScriptedModel([ToolCall("", "book_seat", "{}"), "ok"])
    with (
        catalogue.using(Registry([book_seat])),
        answer_with(model),
        ChatTester(cast.acme, cast.alice, "support") as chat,
    ):
        assert chat.ask("A seat, please").tool_results == [TOLD]
    assert StoredCall.objects.get(tenant=cast.acme).status == "error"


def test_over_mcp_the_server_has_the_questions() -> None:
    result = ToolTester(book_seat, extra={"mcp_caller": McpCaller()}).run()
    assert isinstance(result.value, InputNeeded)
    assert result.content == '["seat"]'
