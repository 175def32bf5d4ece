"""What optional apps add to the policy: why the deployment may only read now, and which calls a person is asked about.

The policy function asks them for every offer and every batch of calls. Without such an app nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from assistant.core.values.messages import Message, ToolCall
from assistant.services.toolpolicy.blocks import Block
from assistant.toolkit import Tool, ToolContext


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call that may run, but for what the functions say.

    Attributes:
        is_remote: whether the tool is of an external server.
        messages: what the model has been sent.
    """

    tool: Tool
    call: ToolCall
    is_remote: bool
    context: ToolContext
    messages: Sequence[Message] = field(default=(), repr=False)


# Functions that return why no tool with an effect may run now, "" if they may. They may query the database.
read_only_reasons: list[Callable[[], str]] = []
# Functions that return why a person has to be asked about a call, "" for no reason.
questions: list[Callable[[AskedCall], str]] = []


def read_only_if(reason: Callable[[], str]) -> None:
    """Switch all tools off that are not read-only while a function gives a reason."""
    read_only_reasons.append(reason)


def ask_if(question: Callable[[AskedCall], str]) -> None:
    """Ask a person first about each call for which a function gives a reason, whatever the switches say."""
    questions.append(question)


def read_only_block() -> Block | None:
    """Return the off switch of all tools that are not read-only; None if there is none."""
    for reason in read_only_reasons:
        if sentence := reason():
            return Block(sentence)
    return None


def reason_to_ask(asked: AskedCall) -> str:
    """Return why a person has to be asked about a call; "" for no reason."""
    return next((reason for question in questions if (reason := question(asked))), "")
