"""Typed answers of a turn: requested from the model, parsed while they grow, validated and repaired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from assistant.core.conversation.open_parts import cut_message
from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import REPAIRS, UNFINISHED, TurnFailed
from assistant.core.llm.protocol import ModelRequest
from assistant.core.llm.typed_output import OUTPUT_TOOL, InvalidOutput, Mode, OutputType
from assistant.core.toolcalls.protocols import Admission, Toolset
from assistant.core.values.events import (
    Custom,
    Event,
    TextMessageContent,
    TextMessageStart,
    ToolCallArgs,
    ToolCallStart,
)
from assistant.core.values.messages import Message, ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.toolkit import Tool
from assistant.toolkit.translation import gettext

# A growing text is parsed again after at least this many further characters, and at least this share of its length.
STEP = 16
STEP_SHARE = 0.1
_NEXT_MODE: dict[Mode, Mode] = {"native": "tool", "tool": "prompt"}


class PartialAnswer:
    """Parses a typed answer while a turn's events arrive; events of sub-agents are ignored."""

    def __init__(self, output: OutputType[Any]) -> None:
        self._output = output
        self.reset()

    def reset(self) -> None:
        """Start over with a new reply."""
        self._text, self._parsed_length, self._last, self._call_id = "", 0, None, ""

    async def update(self, event: Event) -> Any:
        """Return the partial value, if this event changed it; else None."""
        if getattr(event, "subagent_run_id", None) is not None:
            return None
        match event:
            case TextMessageStart():
                self.reset()
                return None
            case ToolCallStart(tool_call_name=name) if name == OUTPUT_TOOL:
                self.reset()
                self._call_id = event.tool_call_id
                return None
            case ToolCallArgs() if event.tool_call_id == self._call_id:
                self._text += event.delta
            case TextMessageContent():
                self._text += event.delta
            case _:
                return None
        if len(self._text) < self._parsed_length + max(STEP, self._parsed_length * STEP_SHARE):
            return None
        self._parsed_length = len(self._text)
        value = await self._output.parsed_partial(self._text)
        if value is None or value == self._last:
            return None
        self._last = value
        return value


class TypedAnswer:
    """Requests and validates the typed answer of one turn."""

    def __init__(self, output: OutputType[Any], mode: Mode) -> None:
        self.output = output
        self.mode = mode
        self._repairs_left = REPAIRS
        self._repair_reasons: dict[str, str] = {}
        self._partial = PartialAnswer(output)

    def apply_to(self, request: ModelRequest) -> ModelRequest:
        """Return the request, changed so that it asks for an answer of the type in the current mode."""
        messages = [one for message in request.messages for one in self._with_reason(message)]
        match self.mode:
            case "native":
                return replace(request, messages=messages, response_format=self.output.response_format())
            case "tool":
                choice = request.tool_choice if request.tools else OUTPUT_TOOL
                tools = [*request.tools, self.output.tool()]
                return replace(request, messages=messages, tools=tools, tool_choice=choice)
        return replace(request, messages=_instructed(messages, self.output.instructions()))

    def _with_reason(self, message: Message) -> Iterator[Message]:
        yield message
        if message.role == "assistant" and message.id in self._repair_reasons:
            yield Message("user", self._repair_reasons[message.id])

    def fall_back(self) -> bool:
        """Switch to a simpler mode after the provider refused this one. Returns False if there is none."""
        next_mode = _NEXT_MODE.get(self.mode)
        self.mode = next_mode or self.mode
        return next_mode is not None

    async def partial_event(self, event: Event) -> Event | None:
        """Return the `output.partial` event that follows another event, if the value has changed."""
        value = await self._partial.update(event)
        return None if value is None else Custom("output.partial", {"value": self.output.to_json(value)})

    async def check(self, text: str, message_id: str, transcript: Transcript) -> Event | None:
        """Validate the complete answer. Returns None if it is of the type, else the event that marks it as invalid.

        A valid answer is stored in `transcript`. After an invalid one the caller has to send another request, to which
        `apply_to` adds what the model must repair.

        Raises:
            TurnFailed: there were too many repairs, or the answer was cut short or is a refusal.
            NoAnswer: a validator of the type has returned an awaitable, or has taken too long.
        """
        if transcript.finish_reason in UNFINISHED:
            sentence, code = UNFINISHED[transcript.finish_reason]
            raise TurnFailed(gettext(sentence), code)
        try:
            value = await self.output.parsed(text)
        except InvalidOutput as exc:
            if not self._repairs_left:
                sentence = gettext("The model gave no valid %(name)s. %(problem)s")
                given = {"name": self.output.name, "problem": str(exc)}
                raise TurnFailed(sentence % given, "provider_error") from exc
            self._repairs_left -= 1
            reason = f"This answer is not of the required form. {exc} Answer again, in that form."
            self._repair_reasons[message_id] = f"{reason} {self.output.instructions()}"
            return cut_message(message_id, "invalid_form")
        transcript.output = value
        transcript.result = self.output.to_json(value)
        return None


class ToolsetWithTool:
    """A toolset with one more tool, which is always allowed."""

    def __init__(self, toolset: Toolset, tool: Tool) -> None:
        self._toolset = toolset
        self._tool = tool

    async def offered(self) -> Sequence[Tool]:
        return await self._toolset.offered()

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        admissions = await self._toolset.admit(calls, read)
        return [
            Admission(self._tool, rule="Gives the answer.") if call.name == self._tool.name else admission
            for call, admission in zip(calls, admissions, strict=True)
        ]


def _instructed(messages: Sequence[Message], instructions: str) -> tuple[Message, ...]:
    if messages and messages[0].role == "system":
        return (replace(messages[0], content=f"{messages[0].content}\n\n{instructions}"), *messages[1:])
    return (Message("system", instructions), *messages)
