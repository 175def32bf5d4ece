"""What mypy accepts of typed dependencies; `tests/client/test_deps.py` runs it."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.client import ChatClient, InMemoryStore, Limits, PromptLog
from assistant.providers import AnthropicModel, GoogleModel, ScriptedModel
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


bound = ScriptedModel("ok").with_tools(
    who, deps=Deps("x"), limits=Limits(rounds=3), store=InMemoryStore(), input_guardrails=[guard], context={"a": 1}
)
bound.with_tools(extensions=[PromptLog()], on_question=None, secrets={"who": {"key": "x"}})
models = [AnthropicModel("m", api_key="k", timeout=5.0), GoogleModel("m", api_key="k", sees_images=True)]
