"""Functions of a program that check what a turn is asked and what it answers: guardrails and validators."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assistant.core.conversation.open_parts import cut_message
from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import TurnFailed
from assistant.core.llm.protocol import ModelRequest
from assistant.core.llm.typed_output import OutputType
from assistant.core.turn.typed_answer import REPAIRS, UNFINISHED
from assistant.core.values.events import Event
from assistant.core.values.messages import Message
from assistant.toolkit import ToolContext, ToolError
from assistant.toolkit.calls.gate import HandedIn, called
from assistant.toolkit.translation import gettext

# The time of one check, which may ask a model.
CHECK_SECONDS = 60.0


class GuardrailTripped(Exception):
    """Raised by a guardrail to end the turn; the text is a sentence for the user."""


# Takes a text and the context. Raises `GuardrailTripped`.
Guardrail = Callable[[str, ToolContext[Any]], Awaitable[None] | None]
# Takes the answer and the context, and returns the answer, possibly changed. Raises `ToolError` with what is wrong.
Validator = Callable[[Any, ToolContext[Any]], Any]


@dataclass(frozen=True, slots=True)
class Checks:
    """The functions that check a turn; async ones run on the event loop, others in a thread. Each has a minute.

    Attributes:
        inputs: guardrails for the user's message, called before the model is asked.
        outputs: guardrails for the text of the answer.
        validators: of the answer, which is a value if a type was requested, else a text. What one raises, the model
            reads, and answers again.
    """

    inputs: tuple[Guardrail, ...] = ()
    outputs: tuple[Guardrail, ...] = ()
    validators: tuple[Validator, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs or self.validators)


NO_CHECKS = Checks()


class TurnChecks:
    """The checks of one turn.

    Args:
        output: the type of the answer; None for a text.
        grace: how many seconds a check may take to clean up when the turn is stopped.
    """

    def __init__(
        self,
        checks: Checks,
        context: ToolContext,
        transcript: Transcript,
        output: OutputType[Any] | None,
        *,
        grace: float,
    ) -> None:
        self._checks = checks
        self._context = context
        self._transcript = transcript
        self._output = output
        self._grace = grace
        self._repairs_left = REPAIRS
        self._reasons: dict[str, str] = {}

    async def check_input(self, messages: Sequence[Message]) -> None:
        """Check the last message, if it is the user's. Raises `TurnFailed`."""
        if self._checks.inputs and messages and messages[-1].role == "user":
            asked = messages[-1]
            text = f"{asked.page}\n\n{asked.content}" if asked.page else asked.content
            await self._guard(self._checks.inputs, "input_guardrails", text, "invalid_input")

    async def check_answer(self, text: str, message_id: str) -> Event | None:
        """Check a complete answer. Returns the event that marks it as not accepted: then the model is asked again.

        Raises:
            TurnFailed: a guardrail has ended the turn, or there were too many repairs.
        """
        if self._checks.validators and self._transcript.finish_reason not in UNFINISHED:
            value = text if self._output is None else self._transcript.output
            for validator in self._checks.validators:
                try:
                    value = await self._called(validator, "output_validators", value)
                except ToolError as exc:
                    return self._to_repair(str(exc), message_id)
            self._transcript.output = value
            if self._output is not None:
                self._transcript.result = self._output.to_json(value)
        await self._guard(self._checks.outputs, "output_guardrails", text, "provider_error")
        return None

    def apply_to(self, request: ModelRequest) -> ModelRequest:
        """Return the request, in which each answer that was not accepted is followed by the reason."""
        if not self._reasons:
            return request
        return replace(request, messages=[one for message in request.messages for one in self._with_reason(message)])

    def _with_reason(self, message: Message) -> Iterator[Message]:
        yield message
        if message.role == "assistant" and message.id in self._reasons:
            yield Message("user", self._reasons[message.id])

    def _to_repair(self, reason: str, message_id: str) -> Event:
        if not self._repairs_left:
            sentence = gettext("The model gave no answer that was accepted. %(reason)s") % {"reason": reason}
            raise TurnFailed(sentence, "provider_error")
        self._repairs_left -= 1
        self._reasons[message_id] = f"This answer is not accepted. {reason} Answer again."
        return cut_message(message_id, "invalid_form")

    async def _guard(self, guardrails: Sequence[Guardrail], option: str, text: str, code: str) -> None:
        for guardrail in guardrails:
            try:
                await self._called(guardrail, option, text)
            except GuardrailTripped as exc:
                self._transcript.guardrail = getattr(guardrail, "__name__", type(guardrail).__name__)
                raise TurnFailed(str(exc) or gettext("This is not allowed."), code) from exc

    async def _called(self, function: Callable[..., Any], option: str, value: Any) -> Any:
        given = (value, self._context)
        return await called(HandedIn(function, given, option, "ChatClient", seconds=CHECK_SECONDS, grace=self._grace))
