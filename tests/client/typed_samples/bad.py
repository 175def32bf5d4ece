"""What mypy finds wrong with typed dependencies, in the lines that say so; `tests/client/test_deps.py` runs it."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.client import ChatClient
from assistant.providers import AnthropicModel, GoogleModel, ScriptedModel
from assistant.toolkit import ToolContext, tool


@dataclass(frozen=True)
class Deps:
    name: str


@dataclass(frozen=True)
class Others:
    number: int


@tool
def who(context: ToolContext[Deps]) -> str:
    """Name it."""
    return context.deps.missing  # error: no such attribute


def guard(text: str, context: ToolContext[Others]) -> None:
    context.deps.number.bit_length()


client = ChatClient(model=ScriptedModel("ok"), deps=Deps("x"))
guarded = ChatClient[Deps](model=ScriptedModel("ok"), input_guardrails=[guard])  # error: other dependencies


async def ask() -> None:
    await client.call("?", deps=Others(1))  # error: other dependencies
    await ScriptedModel("ok").call("?", contxt={})  # error: no such setting


reply = client.call_sync("?", conversatoin="c1")  # error: no such setting
text: str = ScriptedModel("ok").with_tools(who).call_sync("?", output_type=int).output or ""  # error: an int
ScriptedModel("ok").with_tools(who, contxt={})  # error: no such option
ScriptedModel("ok").with_tools(who, limits={"rounds": 3})  # error: no Limits
ScriptedModel("ok").with_tools(who).with_tools(secrets={"who": "key"})  # error: no mapping of names
AnthropicModel("m", api_kye="k")  # error: no such option
GoogleModel("m", timeout="5")  # error: no number
