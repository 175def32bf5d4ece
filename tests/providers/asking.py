"""Sends one request to a fake provider through `OpenAIModel`, and returns the outcome in forms that can be compared."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from assistant.core.llm.protocol import Delta, ModelError, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.providers.openai import OpenAIModel
from assistant.toolkit import Tool
from tests.fake_provider import FakeProvider
from tests.providers.quirks import TOOLS

EMPTY = {"type": "object", "properties": {}}


def offered(*names: str) -> list[Tool]:
    """Return tools with these names, without parameters and effect."""
    return [Tool(name=name, description="For tests.", parameters=EMPTY, handler=lambda: None) for name in names]


def model(provider: FakeProvider, *, name: str = "fake", **options: Any) -> OpenAIModel:
    return OpenAIModel(name, **{"base_url": provider.url, "api_key": "", "max_retries": 0, **options})


class Listener:
    """How `ask` gets text: `is_told` where it arrives, or else by iterating alone (see the fixture `listener`)."""

    is_told = False

    @classmethod
    def stream(cls, asked: OpenAIModel, request: ModelRequest, deltas: list[Delta]) -> AsyncIterator[Delta | Reply]:
        def on_text(text: str) -> bool:
            deltas.append(TextDelta(text))
            return True

        return asked.stream_to(on_text, request) if cls.is_told else asked.stream(request)


async def ask(provider: FakeProvider, text: str = "Hi", **options: Any) -> tuple[list[Delta], Reply | ModelError]:
    """Return the deltas, and the reply or the error at their end."""
    request = ModelRequest([Message("user", text)], tools=offered(*TOOLS))
    deltas: list[Delta] = []
    try:
        async for item in Listener.stream(model(provider, **options), request, deltas):
            if isinstance(item, Reply):
                return deltas, item
            deltas.append(item)
    except ModelError as error:
        return deltas, error
    raise AssertionError("a stream ended without a reply")


def content_of(deltas: list[Delta]) -> tuple[str, str, list[ToolCall]]:
    """Return the text, the reasoning and the calls that the deltas contain."""
    calls: list[ToolCall] = []
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            if delta.index == len(calls):
                assert delta.id and delta.name, "a call must open with its id and its name"
                calls.append(ToolCall(delta.id, delta.name, delta.arguments))
            else:
                call = calls[delta.index]
                calls[delta.index] = ToolCall(call.id, call.name, call.arguments + delta.arguments)
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    return text, "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)), calls


def comparable(deltas: list[Delta], outcome: Reply | ModelError) -> list[Any]:
    """The same for comparing two readings: pieces of one thing joined, generated ids left out."""
    joined: list[Any] = []
    for delta in deltas:
        index = delta.index if isinstance(delta, ToolCallDelta) else -1
        piece = delta.arguments if isinstance(delta, ToolCallDelta) else delta.text
        if joined and joined[-1][:2] == [type(delta), index]:
            joined[-1][2] += piece
        else:
            joined.append([type(delta), index, piece])
    if isinstance(outcome, ModelError):
        return [*joined, outcome.code, str(outcome)]
    calls = [(call.name, call.arguments) for call in outcome.tool_calls]
    return [*joined, outcome.text, outcome.reasoning, calls, outcome.usage, outcome.finish_reason, outcome.model]
