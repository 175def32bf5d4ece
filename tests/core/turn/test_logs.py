"""Every operation is logged at DEBUG with its tenant and run, without messages, arguments, results and secrets."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from assistant.client.agents import Agent
from assistant.client.tool_search import SearchingToolset
from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.core.llm.protocol import ModelError
from assistant.core.toolcalls.protocols import FixedToolset, ToolOutcome
from assistant.core.values.messages import Message, ToolCall
from assistant.providers.openai_wire.error_sentences import failure
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import TenantInfo, ToolContext, ToolError, ToolResult, UserInfo, tool
from assistant.toolkit.logs import ContextFilter, run_log_context
from tests.core.scripted_turns import MemoryJournal, run_script


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
    await run_script([calls, "canary-answer"], context=CONTEXT, toolset=toolset, messages=messages)


@tool
def break_down() -> None:
    """Break down."""
    raise RuntimeError("broken")


@tool(requires_approval=lambda arguments, context: 1 / 0 > 0)
def doubt() -> None:
    """Doubt."""


def at_a_loss(context: ToolContext) -> bool:
    raise RuntimeError("no idea")


class Endless:
    """A value that cannot be converted to JSON."""

    def __str__(self) -> str:
        raise RecursionError


@tool
def show() -> str:
    """Show."""
    return "ok"


async def show_endlessly(invocation: Invocation, call: CallTool) -> ToolResult:
    return replace(await call(invocation), display=Endless())


class BrokenJournal(MemoryJournal):
    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        raise RuntimeError("the rows are gone")


async def test_failures_are_logged_with_their_tenant_and_run(caplog: pytest.LogCaptureFixture) -> None:
    tools = [break_down, doubt, show, show.replace(name="unsure", available=at_a_loss)]
    calls = [ToolCall(tool.name, tool.name, "{}") for tool in tools]
    script = [calls, ModelError("overloaded", "gone")]
    await run_script(script, context=CONTEXT, toolset=FixedToolset(tools), interceptors=(show_endlessly,))
    await run_script([calls], context=CONTEXT, toolset=FixedToolset([show]), journal=BrokenJournal())
    records = [record for record in caplog.records if record.levelno >= logging.WARNING]
    told = {
        "is available failed",
        "The check of tool doubt failed",
        "Tool break_down failed",
        "is not JSON and left out",
        "The model scripted of scripted failed",
        "of tenant acme failed",
    }
    assert [words for words in told if not any(words in record.getMessage() for record in records)] == []
    assert {(record.tenant, record.run) for record in records} == {("acme", "run-7")}  # type: ignore[attr-defined]


async def test_the_line_with_the_id_of_a_providers_error_has_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    turn = await run_script([failure(429, "insufficient_quota")], context=CONTEXT)
    error_id = turn.error.message.partition("(error ")[2].removesuffix(").")
    (line,) = [record.getMessage() for record in caplog.records if f"[{error_id}]" in record.getMessage()]
    assert "(status 429, insufficient_quota)" in line


async def test_every_operation_is_logged_without_messages(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await turn()
    records = [record for record in caplog.records if record.name.split(".")[0] == "assistant"]
    assert {(record.tenant, record.run) for record in records} == {("acme", "run-7")}  # type: ignore[attr-defined]
    told = "\n".join(f"{record.getMessage()} {record.args}" for record in caplog.records)
    assert "canary" not in told
    for operation in (
        "A turn begins",
        "Request 1 to scripted: 2 of 2 messages, 4 tools",
        "A batch of 5 tool calls",
        "Tool look begins, call a",
        "Tool look succeeded",
        "Tool fail raised ToolError",
        "Call b: error",
        "Call e: error",
        "Asking expert, 1 deep",
        "expert has answered",
        "A search found 6 of 8 tools",
        "Request 2",
        "Answer (stop)",
        "The turn ends: Success",
    ):
        assert operation in told, operation


def test_records_of_other_libraries_get_the_labels_of_the_run() -> None:
    record = logging.LogRecord("django.db", logging.INFO, "", 0, "x", (), None)
    with run_log_context(CONTEXT):
        ContextFilter().filter(record)
    assert (record.tenant, record.run) == ("acme", "run-7")  # type: ignore[attr-defined]
    outside = logging.LogRecord("django.db", logging.INFO, "", 0, "x", (), None)
    ContextFilter().filter(outside)
    assert (outside.tenant, outside.run) == ("", "")  # type: ignore[attr-defined]
