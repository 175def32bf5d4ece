"""Typed answers as an extension of a turn: requested from the model, parsed while they grow, validated and repaired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assistant.core.conversation.turn_endings import UNFINISHED, AnswerRefused, TurnFailed
from assistant.core.extensions.extension import ExtensionRun, ShippedExtension
from assistant.core.llm.protocol import Model, ModelError, ModelRequest, NoTypedAnswers
from assistant.core.llm.typed_output import OUTPUT_TOOL, InvalidOutput, Mode, OutputType, output_of
from assistant.core.values.events import (
    Event,
    TextMessageContent,
    TextMessageStart,
    ToolCallArgs,
    ToolCallStart,
)
from assistant.core.values.messages import Message
from assistant.toolkit import Tool
from assistant.toolkit.translation import gettext

# A growing text is parsed again after at least this many further characters, and at least this share of its length.
STEP = 16
STEP_SHARE = 0.1
_NEXT_MODE = {"native": "tool", "tool": "prompt"}


class PartialAnswer:
    """Parses a typed answer while a turn's events arrive; events of sub-agents are ignored."""

    def __init__(self, output: OutputType[Any]) -> None:
        self._output = output
        self.reset()

    def reset(self) -> None:
        """Start over with a new reply."""
        self._text = ""
        self._parsed_length = 0
        self._last: Any = None
        self._call_id = ""

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


@dataclass
class AnswerState:
    """What a turn keeps of its typed answer.

    Attributes:
        mode: how it is requested now; "" as the turn began.
    """

    mode: str = ""


class TypedAnswer(ShippedExtension[AnswerState]):
    """Requests and validates the typed answer of one turn; `RUN_FINISHED.result` is the value.

    Args:
        output: the type.
        mode: how it is requested; if the provider refuses it, a simpler mode is tried.
    """

    name = "assistant.typed_answer"
    guards = True
    state_type = AnswerState

    def __init__(self, output: OutputType[Any], mode: Mode = "native") -> None:
        self._output = output
        self._mode = mode
        self._tool = output.tool()
        self._partial = PartialAnswer(output)

    def _mode_of(self, run: ExtensionRun[AnswerState]) -> str:
        return run.state.mode or self._mode

    async def tools(self, run: ExtensionRun[AnswerState]) -> Sequence[Tool]:
        return [self._tool]

    async def before_request(self, run: ExtensionRun[AnswerState], request: ModelRequest) -> ModelRequest:
        tools = [tool for tool in request.tools if tool is not self._tool]
        if any(tool.name == OUTPUT_TOOL for tool in tools):
            raise TurnFailed(f"With a typed answer no tool may be named {OUTPUT_TOOL!r}.", "invalid_input")
        match self._mode_of(run):
            case "native":
                return replace(request, tools=tools, response_format=self._output.response_format())
            case "tool":
                choice = request.tool_choice if tools else OUTPUT_TOOL
                return replace(request, tools=[*tools, self._tool], tool_choice=choice)
        return replace(request, tools=tools, messages=_instructed(request.messages, self._output.instructions()))

    async def after_event(self, run: ExtensionRun[AnswerState], event: Event) -> None:
        value = await self._partial.update(event)
        if value is not None:
            run.tell("output.partial", {"value": self._output.to_json(value)})

    async def after_failure(self, run: ExtensionRun[AnswerState], error: ModelError) -> bool:
        simpler = _NEXT_MODE.get(self._mode_of(run)) if isinstance(error, NoTypedAnswers) else None
        run.state.mode = simpler or run.state.mode
        return simpler is not None

    async def check_answer(self, run: ExtensionRun[AnswerState], answer: Any) -> Any:
        """Return the value of the answer's text.

        Raises:
            TurnFailed: the answer was cut short or is a refusal.
            AnswerRefused: it is not of the type.
            NoAnswer: a validator of the type has returned an awaitable, or has taken too long.
        """
        if run.finish_reason in UNFINISHED:
            sentence, code = UNFINISHED[run.finish_reason]
            raise TurnFailed(gettext(sentence), code)
        try:
            return await self._output.parsed(run.text)
        except InvalidOutput as exc:
            told = f"This answer is not of the required form. {exc} Answer again, in that form."
            failed = gettext("The model gave no valid %(name)s. %(problem)s")
            names = {"name": self._output.name, "problem": str(exc)}
            raise AnswerRefused(f"{told} {self._output.instructions()}", failed % names) from exc

    async def result(self, run: ExtensionRun[AnswerState], answer: Any) -> Any:
        return self._output.to_json(answer)


def typed_as(output_type: Any, model: Model) -> tuple[TypedAnswer, ...]:
    """Return what has a turn's answer be of a type, or of a JSON Schema; nothing for None. Raises as `output_of`."""
    return (
        () if output_type is None else (TypedAnswer(output_of(output_type), getattr(model, "output_mode", "native")),)
    )


def _instructed(messages: Sequence[Message], instructions: str) -> tuple[Message, ...]:
    if messages and messages[0].role == "system":
        return (replace(messages[0], content=f"{messages[0].content}\n\n{instructions}"), *messages[1:])
    return (Message("system", instructions), *messages)
