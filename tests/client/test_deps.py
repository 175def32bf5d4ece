"""Typed dependencies of tools: at run time, and as mypy checks them."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from assistant.client import Agent, ChatClient, FixedToolset, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import InvalidTool, Param, ToolContext, current_context, tool

SAMPLES = Path(__file__).parent / "typed_samples"


@dataclass(frozen=True)
class Deps:
    name: str


@tool
def who(greeting: Annotated[str, Param("How to greet")], context: ToolContext[Deps]) -> str:
    """Greet the database."""
    return f"{greeting}, {context.deps.name}"


CALL = ToolCall("", "who", '{"greeting": "Hi"}')


async def test_a_tool_gets_the_clients_dependencies_or_the_calls() -> None:
    client = ChatClient(model=ScriptedModel([CALL, "ok", CALL, "ok"]), tools=[who], deps=Deps("one"))
    assert (await client.call("?")).tool_calls[0].result == "Hi, one"
    assert (await client.call("?", deps=Deps("two"))).tool_calls[0].result == "Hi, two"
    assert "context" not in str(who.parameters)


@pytest.mark.parametrize("deps", [None, "text"])
async def test_other_dependencies_are_refused(deps: object) -> None:
    client = ChatClient(model=ScriptedModel("ok"), tools=[who], deps=deps)
    with pytest.raises(InvalidTool, match="Deps"):
        await client.call("?")


async def test_assistants_that_are_tools_have_the_dependencies() -> None:
    agent = Agent(
        name="greeter", description="Greets.", model=ScriptedModel([CALL, "done"]), toolset=FixedToolset([who])
    )
    client = ChatClient(
        model=ScriptedModel([ToolCall("", "greeter", '{"task": "greet"}'), "ok"]),
        tools=[agent.as_tool()],
        deps=Deps("x"),
    )
    assert (await client.call("?")).tool_calls[0].result == "done"


async def test_a_text_annotation_and_current_context_work_too() -> None:
    def named(context: ToolContext[Deps] | None = None) -> str:
        """Name it."""
        assert context is not None
        return context.deps.name + str(current_context().deps.name)

    client = ChatClient(model=ScriptedModel([ToolCall("", "named", "{}"), "ok"]), tools=[named], deps=Deps("x"))
    assert (await client.call("?")).tool_calls[0].result == "xx"
    assert "Deps" not in repr(ToolContext(deps=Deps("secret")))


@pytest.mark.timeout(900)  # without the cache that `make lint` leaves, mypy reads the whole package
def test_mypy_checks_dependencies() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mypy", str(SAMPLES / "good.py"), str(SAMPLES / "bad.py")],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    places = re.findall(r"typed_samples/(\w+)\.py:(\d+): error:", run.stdout)
    lines = enumerate((SAMPLES / "bad.py").read_text().splitlines(), 1)
    marked = {("bad", str(number)) for number, line in lines if "# error" in line}
    assert {*places} == marked, run.stdout
