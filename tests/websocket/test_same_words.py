"""Each way to define a tool works in a tenant's run as it does in a script (tests/mcp/served/rows.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from assistant.client import ChatClient, ToolCall
from assistant.models import ToolCall as CallRow
from assistant.providers import ScriptedModel
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester, answer_with
from assistant.toolkit import Registry
from tests.base import Cast
from tests.mcp.served.rows import ROWS, TOOLS, Row

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]


@pytest.fixture(autouse=True)
def _catalogue() -> Iterator[None]:
    with catalogue.using(Registry(TOOLS)):
        yield


def call(name: str, arguments: object) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.tool)
async def test_in_a_script(row: Row) -> None:
    model = ScriptedModel([call(row.tool, row.arguments), "It is so."])
    reply = await ChatClient(model=model, tools=TOOLS).call("Go")
    (called,) = reply.tool_calls
    assert (called.error if row.fails else called.result) == row.told
    assert reply.text == (row.told if row.is_answer else "It is so.")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.tool)
def test_in_a_tenants_run(cast: Cast, row: Row) -> None:
    turns = [call(row.tool, row.arguments), *([] if row.is_answer else ["It is so."]), "Title"]
    with answer_with(ScriptedModel(turns)), ChatTester(cast.acme, cast.alice, "support") as chat:
        answer = chat.ask("Go")
    (result,) = [event["content"] for event in answer.events if event["type"] == "TOOL_CALL_RESULT"]
    assert result == row.told
    assert answer.text == (row.told if row.is_answer else "It is so.")
    assert (CallRow.objects.get(tenant=cast.acme).status == CallRow.Status.ERROR) == row.fails


def test_what_a_tool_raises_ends_a_tenants_run_and_says_nothing_of_it(cast: Cast) -> None:
    model = ScriptedModel([call("row_classes", {"number": 0}), "Title"])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        answer = chat.ask("Go")
    assert answer.error == "internal_error" and "hunter2" not in json.dumps(answer.events)


def test_a_tenants_run_offers_what_a_script_does(cast: Cast) -> None:
    model = ScriptedModel(["Hello.", "Title"])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("Hi")
    offered = {tool.name: (tool.description, tool.parameters) for tool in model.requests[0].tools}
    assert offered == {tool.name: (tool.description, tool.parameters) for tool in TOOLS}
