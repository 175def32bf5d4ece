"""Worked examples for small models: turns that use the tools, made from the tools' own examples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from assistant.core.values.messages import Message, ToolCall
from assistant.toolkit import Example, ExampleStep, Tool

# Turns without a call, which show that not every message needs a tool. They have most effect at the beginning and end.
GREETING = (Message("user", "hi there"), Message("assistant", "Hello! How can I help you?"))
SMALL_TALK = (
    Message("user", "thanks! what is a haiku?"),
    Message("assistant", "You're welcome! It is a Japanese poem of three lines."),
)


def worked_turns(tools: Sequence[Tool]) -> list[Message]:
    """Return a conversation in which each of these tools is used as in its examples; empty if none has examples.

    Examples that first call a tool that is not offered are left out.
    """
    names = {tool.name for tool in tools}
    turns: list[Message] = []
    for tool in tools:
        for example in tool.examples:
            if all(step.tool in names for step in example.before):
                turns.extend(_turn(tool, example, f"example-{len(turns)}"))
    return [*GREETING, *turns, *SMALL_TALK] if turns else []


def _turn(tool: Tool, example: Example, prefix: str) -> Iterable[Message]:
    yield Message("user", example.user)
    last = ExampleStep(tool.name, example.arguments, example.result or example.answer or "Done")
    for number, step in enumerate([*example.before, last]):
        call = ToolCall(f"{prefix}-{number}", step.tool, json.dumps(dict(step.arguments), ensure_ascii=False))
        yield Message("assistant", tool_calls=(call,))
        yield Message("tool", step.result, tool_call_id=call.id)
    yield Message("assistant", example.answer or "Done.")
