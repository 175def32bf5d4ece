"""Each way to define a tool works over MCP as it does in a script and in a tenant's run (tests/mcp/served/rows.py)."""

from __future__ import annotations

import pytest

from tests.live import Server
from tests.mcp.served.rows import ROWS, TOOLS
from tests.mcp.talking import Client, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_each_tool_is_listed_and_called(uvicorn_served: Server, alice_key: str) -> None:
    alice = Client(uvicorn_served.url, alice_key)
    listed = {tool["name"]: (tool["description"], tool["inputSchema"]) for tool in alice.result("tools/list")["tools"]}
    for tool in TOOLS:
        assert listed[tool.name] == (tool.description, tool.parameters)
    for row in ROWS:
        result = alice.call(row.tool, row.arguments)
        assert (text_of(result), result.get("isError", False)) == (row.told, row.fails)


def test_what_a_tool_raises_is_an_error_that_says_nothing_of_it(uvicorn_served: Server, alice_key: str) -> None:
    result = Client(uvicorn_served.url, alice_key).call("row_classes", {"number": 0})
    assert result["isError"] is True and "hunter2" not in text_of(result)
