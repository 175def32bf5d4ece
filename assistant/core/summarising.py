"""Replaces the older part of a long conversation by a summary that a model writes."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.core.memory import estimate, fit, repair
from assistant.core.messages import Message, Reply
from assistant.core.model import Model, ModelError, ModelRequest

HEADING = "Summary of the conversation so far:\n"
_TASK = (
    "Summarise this conversation for yourself, so that you can go on with it: what the user wants, what was found out "
    "(names, numbers, dates and ids exactly), what was done, what is still open. Do not answer it. Plain text, at most "
    "300 words."
)


async def summarise(model: Model, messages: Sequence[Message], *, tokens: int) -> list[Message]:
    """The conversation with its older part as a summary, once it is longer than `tokens`.

    The summary is a system message after the system prompt, so that `fit` keeps it; a later summary takes it in.
    About half of the room goes to the newest messages, which stay as they are.

    Args:
        model: writes the summary.
        tokens: as `memory.estimate` counts them.

    Raises:
        ModelError: the model could not; the conversation is as it was.
    """
    valid = repair(messages)
    if sum(map(estimate, valid)) <= tokens:
        return valid
    prompts = [message for message in valid if message.role == "system" and not message.content.startswith(HEADING)]
    spoken = [message for message in valid if message not in prompts]
    kept = fit([message for message in spoken if message.role != "system"], tokens=tokens // 2)
    older = spoken[: len(spoken) - len(kept)]
    if not older:
        return valid
    text = await _answer(model, [Message("system", _TASK), Message("user", _as_text(older))])
    return [*prompts, Message("system", HEADING + text), *kept]


def _as_text(messages: Sequence[Message]) -> str:
    """A conversation as one text: as messages a model would be tempted to answer them."""
    lines: list[str] = []
    for message in messages:
        if message.content:
            lines.append(f"{message.role}: {message.content}")
        lines.extend(f"{message.role} called {call.name}: {call.arguments}" for call in message.tool_calls)
    return "\n".join(lines)


async def _answer(model: Model, messages: Sequence[Message]) -> str:
    async for part in model.stream(ModelRequest(messages)):
        if isinstance(part, Reply) and part.text.strip():
            return part.text.strip()
    raise ModelError("The model gave no summary.")
