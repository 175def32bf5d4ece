"""A model that says what a script tells it to: for tests, examples, and people who write tools."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal

from assistant.core.llm.protocol import Delta, ModelError, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.values.history_window import estimate, estimate_tokens
from assistant.core.values.messages import Reply, ToolCall, Usage

Part = str | Delta | ToolCall | Exception | Awaitable[Any]
Said = Part | Sequence[Part] | Reply
Turn = Said | Callable[[ModelRequest], Said]

_WORDS = re.compile(r"\s*\S+|\s+")


class ScriptedModel:
    """Answers one turn of its script per question; a text alone is a script of one turn.

    A turn is a text (streamed word by word), a `ToolCall`, an exception (raised), a whole `Reply`, or a list of such
    parts: texts (one delta each), deltas, calls, exceptions, and awaitables, which are waited for at their place. It
    may also be a function of the request, plain or async, that returns any of these.

    `requests` holds every question that was asked; `output_mode` is how it wants to be asked for typed answers.
    """

    def __init__(
        self,
        turns: str | Iterable[Turn],
        *,
        name: str = "scripted",
        provider: str = "scripted",
        output_mode: Literal["native", "tool", "prompt"] = "native",
    ) -> None:
        self.output_mode = output_mode
        self.name = name
        self.provider = provider
        self.requests: list[ModelRequest] = []
        self._turns = iter([turns] if isinstance(turns, str) else turns)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.requests.append(request)
        said: Any = next(self._turns, None)
        if said is None:
            raise ModelError("The script has no more turns.")
        if callable(said):
            said = said(request)
            said = await said if inspect.iscoroutine(said) else said
        if isinstance(said, Reply):
            yield said
            return
        parts = _WORDS.findall(said) if isinstance(said, str) else said if isinstance(said, list | tuple) else [said]
        heard = _Heard()
        for part in parts:
            if isinstance(part, Exception):
                raise part
            if isinstance(part, str | TextDelta | ReasoningDelta | ToolCallDelta | ToolCall):
                yield heard.add(part)
            else:
                await part
        yield heard.reply(request, self.name)


class _Heard:
    """What a turn has said so far."""

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
        said = self._text + "".join(call.name + call.arguments for call in self._calls)
        return Reply(
            text=self._text,
            reasoning=self._reasoning,
            tool_calls=tuple(self._calls),
            usage=Usage(sum(map(estimate, request.messages)), estimate_tokens(said)),
            finish_reason="tool_calls" if self._calls else "stop",
            model=model,
        )
