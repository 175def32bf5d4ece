"""Functions of a tool's author that fail while a person's decision is checked: refused, never an internal error."""

from __future__ import annotations

import time
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from assistant.core.toolcalls.protocols import Decision
from assistant.core.values.messages import Message
from assistant.core.values.messages import ToolCall as Call
from assistant.models import Tenant
from assistant.services.errors import Refused
from assistant.services.runs.opening.new_input import check_decisions
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit import Question, Tool, tool
from assistant.toolkit.calls import gate


async def later(value: str) -> str:
    return value


def fails(arguments: Any) -> Question:
    raise KeyError(arguments["seat"])


def hangs(value: str) -> str:
    time.sleep(1)
    return value


@tool(requires_approval=True)
def book(seat: Annotated[str, AfterValidator(lambda value: later(value))]) -> str:  # noqa: PLW0108 - it is not async itself
    """Book a seat."""
    return seat


@tool(requires_approval=True)
def reserve(seat: Annotated[str, AfterValidator(hangs)]) -> str:
    """Reserve a seat."""
    return seat


def asking(asks: Any) -> Tool:
    schema = {"type": "object", "properties": {"seat": {"type": "string"}}}
    return Tool(name="ask", description="Ask.", parameters=schema, handler=lambda arguments: "", asks=asks)


def decide(one: Tool, decision: Decision) -> None:
    call = Call("c1", one.name, '{"seat": "1A"}')
    history = [Message("user", "Book"), Message("assistant", "", tool_calls=(call,))]
    check_decisions(
        {"c1": decision}, history, [EffectiveTool(one, "ask", "")], tenant=Tenant(slug="acme"), asked_by=1, decided_by=1
    )


@pytest.mark.parametrize("one", [book, reserve], ids=["an awaitable", "too long"])
def test_edited_arguments_whose_validator_gives_no_answer_are_refused(
    one: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "CHECK_SECONDS", 0.05)
    with pytest.raises(Refused, match=f"The tool '{one.name}' cannot be used now"):
        decide(one, Decision(approved=True, edited_arguments={"seat": "2B"}))


@pytest.mark.parametrize("asks", [fails, lambda arguments: None], ids=["an error", "no question"])
def test_an_answer_to_a_tool_that_does_not_ask_is_refused(asks: Any) -> None:
    with pytest.raises(Refused, match="The tool 'ask' cannot be used now"):
        decide(asking(asks), Decision(approved=True, response="{}"))
