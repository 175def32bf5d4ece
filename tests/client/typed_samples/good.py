"""What mypy accepts of typed dependencies; `tests/client/test_deps.py` runs it."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.client import ChatClient
from assistant.providers import ScriptedModel
from assistant.toolkit import ToolContext, tool


@dataclass(frozen=True)
class Deps:
    name: str


@tool
def who(context: ToolContext[Deps]) -> str:
    """Name it."""
    return context.deps.name


def guard(text: str, context: ToolContext[Deps]) -> None:
    context.deps.name.upper()


def any_context(context: ToolContext) -> str:
    """Take any dependencies."""
    return str(context.deps.anything)


client = ChatClient(model=ScriptedModel("ok"), tools=[who], deps=Deps("x"), input_guardrails=[guard])
client.call_sync("?", deps=Deps("y"))
plain = ChatClient(model=ScriptedModel("ok"))


async def ask() -> None:
    await client.call("?", deps=Deps("y"))
    await plain.call("?")
