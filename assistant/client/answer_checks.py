"""Functions of a program that check what a turn is asked and what it answers: guardrails and validators."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from assistant.core.conversation.turn_endings import UNFINISHED, GuardrailTripped
from assistant.core.extensions.extension import ExtensionRun, ShippedExtension
from assistant.toolkit import ToolContext
from assistant.toolkit.calls.gate import HandedIn, NoAnswer, called, refuse_generator
from assistant.toolkit.calls.left_awaitables import refuse_awaitables

# The time of one check, which may ask a model.
CHECK_SECONDS = 60.0

# Takes a text and the context. Raises `GuardrailTripped`; an answer, such as False, would pass for a yes.
Guardrail = Callable[[str, ToolContext[Any]], Awaitable[None] | None]
# Takes the answer and the context, and returns the answer, possibly changed. Raises `ToolError` with what is wrong.
Validator = Callable[[Any, ToolContext[Any]], Any]


class Guardrails(ShippedExtension[None]):
    """Guardrails for the user's message, called before the model is asked, and for the text of the answer."""

    name = "assistant.guardrails"
    guards = True

    def __init__(self, inputs: Sequence[Guardrail], outputs: Sequence[Guardrail]) -> None:
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)

    async def opened(self, run: ExtensionRun[None]) -> None:
        asked = run.messages[-1] if run.messages else None
        if self._inputs and asked is not None and asked.role == "user":
            text = f"{asked.page}\n\n{asked.content}" if asked.page else asked.content
            await _guard(self._inputs, "input_guardrails", text, run)

    async def check_answer(self, run: ExtensionRun[None], answer: Any) -> Any:
        await _guard(self._outputs, "output_guardrails", run.text, run)
        return answer


class Validators(ShippedExtension[None]):
    """Functions that check, and may change, the answer."""

    name = "assistant.validators"
    guards = True

    def __init__(self, validators: Sequence[Validator]) -> None:
        self._validators = tuple(validators)

    async def check_answer(self, run: ExtensionRun[None], answer: Any) -> Any:
        if run.finish_reason in UNFINISHED:
            return answer
        for validator in self._validators:
            answer = await _called(validator, "output_validators", answer, run)
        return answer


async def _guard(guardrails: Sequence[Guardrail], option: str, text: str, run: ExtensionRun[None]) -> None:
    for guardrail in guardrails:
        try:
            answer = await _called(guardrail, option, text, run)
        except GuardrailTripped as exc:
            exc.guardrail = exc.guardrail or getattr(guardrail, "__name__", type(guardrail).__name__)
            raise
        if answer is not None:
            name = getattr(guardrail, "__name__", type(guardrail).__name__)
            raise NoAnswer(f"{option}: {name} gave a {type(answer).__name__}, not None: it raises what it refuses")


async def _called(function: Callable[..., Any], option: str, value: Any, run: ExtensionRun[None]) -> Any:
    arguments = (value, run.context)
    seconds = CHECK_SECONDS
    asked = HandedIn(function, arguments, option, "ChatClient", seconds=seconds, grace=run.grace, on_left=run.on_left)
    answer = await called(asked)
    refuse_generator(answer, asked.label)
    refuse_awaitables(answer)
    return answer
