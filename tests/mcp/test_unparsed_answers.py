"""A program's answer that is no message of the protocol ends its call at once, and what it says is read."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from assistant.mcp_client import Command, Endpoint, RemoteFailure, connect

DEEP = '{"a":' * 300 + "1" + "}" * 300
TOOL = {"name": "send", "inputSchema": {"type": "object", "properties": {}}}
PAGE = {"tools": [TOOL]}


def program(line: str = "", *pages: Any) -> Endpoint:
    """A program that answers calls with this line."""
    state = {"pages": pages or [PAGE], "answers": {"send": {"line": line}}}
    return Endpoint(command=Command(sys.executable, ("-m", "tests.mcp.raw_app", json.dumps(state))))


def page(description: str) -> dict[str, str]:
    """A page with the tool, and with another one that has this text of JSON as its description."""
    other = f'{{"name": "other", "inputSchema": {{"type": "object"}}, "description": {description}}}'
    return {"line": f'{{"jsonrpc": "2.0", "id": <id>, "result": {{"tools": [{json.dumps(TOOL)}, {other}]}}}}'}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"jsonrpc": "2.0", "id": <id>, "result": "Sent to Ann."}', "Sent to Ann."),
        ('{"jsonrpc": "2.0", "id": <id>, "result": ["Sent"]}', '["Sent"]'),
        ('{"jsonrpc": "2.0", "id": <id>, "result": null}', "null"),
        ('{"jsonrpc": "2.0", "id": <id>, "error": "Full."}', "Full."),
        ('{"jsonrpc": "2.0", "id": <id>, "error": {"code": "E1", "message": "Full."}}', "Full."),
        ('{"jsonrpc": "2.0", "id": null, "result": "Sent."}', "Sent."),
        ('{"jsonrpc": "2.0", "id": <id>, "result": {"content": [', '"content"'),
        ('{"jsonrpc": "2.0", "id": <id>, "result": "%s"}' % ("long " * 10_000), "long long"),
    ],
)
async def test_after_an_answer_that_is_no_message_the_outcome_is_unknown(line: str, said: str) -> None:
    async with connect(program(line)) as session, asyncio.timeout(10):
        with pytest.raises(RemoteFailure) as caught:
            await session.call("send", {})
        assert (caught.value.kind, caught.value.may_have_run) == ("protocol", True)
        assert said in str(caught.value) and len(str(caught.value)) < 5_000


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": <id>, "result": {"content": [{"type": "text", "text": "Sent."}]}}', "Sent."),
        (
            '{"jsonrpc": "2.0", "id": <id>, "result": {"content": [{"type": "text", "text": "Sent \\ud83d."}]}}',
            "Sent ?.",
        ),
        (
            '{"jsonrpc": "2.0", "id": <id>, "result": {"content": [{"type": "text", "text": "Sent."}], "_meta": '
            + DEEP
            + "}}",
            "Sent.",
        ),
    ],
)
async def test_an_answer_that_can_be_mended_is_read(line: str, said: str) -> None:
    async with connect(program(line)) as session, asyncio.timeout(10):
        assert (await session.call("send", {})).content == said


@pytest.mark.parametrize("description", ['"half \\ud83d"', "9" * 5_000, DEEP])
async def test_one_tool_takes_no_other_tool_away(description: str) -> None:
    async with connect(program("", page(description))) as session:
        assert "send" in session.tools


async def test_a_page_that_is_no_message_does_not_take_the_pages_before_it() -> None:
    bad = {"line": '{"jsonrpc": "2.0", "id": <id>, "result": [1]}'}
    async with connect(program("", PAGE, bad)) as session:
        assert list(session.tools) == ["send"] and session.listing.unread


async def test_a_log_on_the_standard_output_is_no_answer() -> None:
    answer = '{"jsonrpc": "2.0", "id": <id>, "result": {"content": [{"type": "text", "text": "Sent."}]}}'
    async with connect(program(f'Sending...\n{{"level": "info", "id": 7}}\n{{\n{answer}')) as session:
        assert (await session.call("send", {})).content == "Sent."
