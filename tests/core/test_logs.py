"""Every operation is logged at DEBUG with its tenant and run, and nothing that was said, passed or kept secret."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pydantic import BaseModel

from assistant.core.agents import Agent
from assistant.core.messages import Message, ToolCall
from assistant.core.scripted import ScriptedModel
from assistant.core.searching import SearchingToolset
from assistant.core.toolbox import FixedToolset
from tests.core.playing import play
from tools import TenantInfo, ToolContext, ToolError, UserInfo, tool
from tools.logs import Labels, labelled


class Settings(BaseModel):
    note: str = "canary-config"


@tool(config=Settings, secrets=["key"], requires_approval=lambda arguments, context: False)
async def look(word: str, context: ToolContext) -> str:
    """Look."""
    await context.report_progress(1, 2, "canary-progress")
    return f"canary-result {context.secret('key')}"


@tool
def fail() -> str:
    """Fail."""
    raise ToolError("canary-error")


CONTEXT = ToolContext(
    tenant=TenantInfo(1, "acme"), user=UserInfo(1, "canary-user"), run_id="run-7", extra={"token": "canary-extra"}
)


async def turn() -> None:
    expert = Agent("expert", "canary-description", ScriptedModel(["canary-inner"]), FixedToolset([]), "canary-prompt")
    tools = [look, fail, expert.as_tool(), *(fail.replace(name=f"fail_{n}") for n in range(5))]
    toolset = SearchingToolset(
        FixedToolset(tools, secrets={"look": {"key": "canary-secret"}}), threshold=2, always=["look", "fail", "expert"]
    )
    calls: list[Any] = [
        ToolCall("a", "look", '{"word": "canary-argument"}'),
        ToolCall("b", "fail", "{}"),
        ToolCall("c", "expert", '{"task": "canary-task"}'),
        ToolCall("d", "search_tools", '{"query": "canary fail"}'),
        ToolCall("e", "look", '{"canary": 1}'),
    ]
    messages = (Message("system", "canary-system"), Message("user", "canary-question"))
    await play([calls, "canary-answer"], context=CONTEXT, toolset=toolset, messages=messages)


@tool
def break_down() -> None:
    """Break down."""
    raise RuntimeError("broken")


@tool(requires_approval=lambda arguments, context: 1 / 0 > 0)
def doubt() -> None:
    """Doubt."""


async def test_failures_are_logged_with_their_tenant_and_run(caplog: pytest.LogCaptureFixture) -> None:
    calls = [ToolCall("a", "break_down", "{}"), ToolCall("b", "doubt", "{}")]
    await play([calls, "ok"], context=CONTEXT, toolset=FixedToolset([break_down, doubt]))
    records = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [(record.tenant, record.run) for record in records] == [("acme", "run-7")] * 2  # type: ignore[attr-defined]


async def test_every_operation_is_logged_without_what_was_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await turn()
    records = [record for record in caplog.records if record.name.split(".")[0] in ("tools", "assistant")]
    assert {(record.tenant, record.run) for record in records} == {("acme", "run-7")}  # type: ignore[attr-defined]
    told = "\n".join(f"{record.getMessage()} {record.args}" for record in caplog.records)
    assert "canary" not in told
    for operation in (
        "A turn begins",
        "Question 1 to scripted: 2 of 2 messages, 4 tools",
        "A batch of 5 tool calls",
        "Tool look begins, call a",
        "Tool look ended well",
        "Tool fail raised ToolError",
        "Call b: error",
        "Call e: error",
        "Asking expert, 1 deep",
        "expert has answered",
        "A search found 6 of 8 tools",
        "Question 2",
        "Answer (stop)",
        "The turn ends: Success",
    ):
        assert operation in told, operation


def test_records_of_others_get_the_labels_of_the_run_too() -> None:
    record = logging.LogRecord("django.db", logging.INFO, "", 0, "x", (), None)
    with labelled(CONTEXT):
        Labels().filter(record)
    assert (record.tenant, record.run) == ("acme", "run-7")  # type: ignore[attr-defined]
    outside = logging.LogRecord("django.db", logging.INFO, "", 0, "x", (), None)
    Labels().filter(outside)
    assert (outside.tenant, outside.run) == ("", "")  # type: ignore[attr-defined]
