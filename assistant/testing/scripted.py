"""A model that answers from a script: for tests, examples, and people who write tools."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal

from assistant.core.llm.protocol import (
    Delta,
    ModelError,
    ModelRequest,
    ProviderCall,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from assistant.core.values.history_window import estimate, estimate_tokens
from assistant.core.values.messages import Reply, ToolCall, Usage
from assistant.providers.calling import CallsTools
from assistant.toolkit.unknown_options import lists_options

Part = str | Delta | ToolCall | Exception | Awaitable[Any]
Answer = Part | Sequence[Part] | Reply
Turn = Answer | Callable[[ModelRequest], Answer]

_WORDS = re.compile(r"\s*\S+|\s+")


@lists_options
class ScriptedModel(CallsTools):
    """Answers each request with the next turn of its script; a text alone is a script of one turn.

    A turn is a text (streamed word by word), a `ToolCall`, an exception (raised), a complete `Reply`, or a list of
    parts: texts (one delta each), deltas, calls, exceptions, and awaitables, which are awaited in their place. It may
    also be a function of the request, sync or async, that returns any of these.

    `requests` holds all requests so far; `output_mode` is how typed answers are requested, and `provider_tools` are the
    names of tools that the model's provider runs itself: a turn has a `ProviderCall` for each call.
    """

    def __init__(
        self,
        turns: str | Iterable[Turn],
        *,
        name: str = "scripted",
        provider: str = "scripted",
        output_mode: Literal["native", "tool", "prompt"] = "native",
        provider_tools: Iterable[str] = (),
    ) -> None:
        self.output_mode = output_mode
        self.provider_tools = frozenset(provider_tools)
        self.name = name
        self.provider = provider
        self.requests: list[ModelRequest] = []
        self._turns = iter([turns] if isinstance(turns, str) else turns)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.requests.append(request)
        turn: Any = next(self._turns, None)
        if turn is None:
            raise ModelError("The script has no more turns.")
        if callable(turn):
            turn = turn(request)
            turn = await turn if inspect.isawaitable(turn) else turn
        if isinstance(turn, Reply):
            yield turn
            return
        parts = _WORDS.findall(turn) if isinstance(turn, str) else turn if isinstance(turn, list | tuple) else [turn]
        builder = _ReplyBuilder()
        for part in parts:
            if isinstance(part, Exception):
                raise part
            if isinstance(part, str | TextDelta | ReasoningDelta | ToolCallDelta | ToolCall | ProviderCall):
                yield builder.add(part)
            else:
                await part
        yield builder.reply(request, self.name)


class _ReplyBuilder:
    """Builds the reply from the parts that were streamed."""

    def __init__(self) -> None:
        self._text = ""
        self._reasoning = ""
        self._calls: list[ToolCall] = []

    def add(self, part: str | Delta | ToolCall) -> Delta:
        match part:
            case str():
                self._text += part
                return TextDelta(part)
            case TextDelta():
                self._text += part.text
                return part
            case ReasoningDelta():
                self._reasoning += part.text
                return part
            case ProviderCall():
                return part
            case ToolCall():
                self._calls.append(part)
                return ToolCallDelta(len(self._calls) - 1, part.id, part.name, part.arguments)
        if part.index == len(self._calls):
            self._calls.append(ToolCall(part.id, part.name, part.arguments))
        else:
            call = self._calls[part.index]
            self._calls[part.index] = ToolCall(call.id, call.name, call.arguments + part.arguments)
        return part

    def reply(self, request: ModelRequest, model: str) -> Reply:
        output = self._text + "".join(call.name + call.arguments for call in self._calls)
        return Reply(
            text=self._text,
            reasoning=self._reasoning,
            tool_calls=tuple(self._calls),
            usage=Usage(sum(map(estimate, request.messages)), estimate_tokens(output)),
            finish_reason="tool_calls" if self._calls else "stop",
            model=model,
        )
