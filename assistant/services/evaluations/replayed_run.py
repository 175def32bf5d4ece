"""Runs one question with an assistant apart from its conversations: the code path of a run, with its tools answered.

Called by evaluations, and by any check of the live configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assistant.core.values.messages import Message
from assistant.services.runs.opening.tool_answers import Answered, RecordedCall, ToolAnswers
from assistant.services.tenancy.members import Member

__all__ = ["Message", "RecordedCall", "ReplayedCall", "ReplayedRun", "ToolAnswers", "replay"]


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One tool call of a replayed run.

    Attributes:
        arguments: the model's JSON text.
        result: what the model read.
        status: of `ToolCall.Status`; `refused` if the policy refused it.
        answered: how; None if it did not run.
        would_ask: whether a person would have been asked for approval or an answer.
        agent: the assistant that called it on the run's behalf; "" for the run's own.
    """

    name: str
    arguments: str
    result: str
    status: str
    rule: str
    answered: Answered | None = None
    would_ask: bool = False
    agent: str = ""


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """How a question was answered.

    Attributes:
        error: a sentence; "" if the run finished.
        cost: in millionths of the currency's unit.
        prompt_number: of the prompt's version; None for the default prompt.
    """

    answer: str
    calls: tuple[ReplayedCall, ...] = ()
    error: str = ""
    error_code: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    seconds: float = 0.0
    prompt_number: int | None = None


async def replay(
    *,
    member: Member,
    assistant_slug: str,
    messages: Sequence[Message],
    answers: ToolAnswers,
    prompt_version_id: int | None = None,
) -> ReplayedRun:
    """Answer the last of `messages` in the member's name, and return how; nothing of it stays but its usage.

    The run counts against spend limits and runs at once, is marked as a test, and is deleted when it has ended, with
    the question. Call it on the event loop; a command calls `get_runs().stop()` afterwards.

    Args:
        messages: the history without a system prompt, the user's question last.
        answers: how tools are answered; one for each run. By default nothing is called but read-only tools.
        prompt_version_id: a version of the assistant's prompt; None for the published one.

    Raises:
        Refused: `thread_not_found` if the tenant has no such active assistant or version; `quota_exceeded` if a quota
            is used up; `limit_reached` if too many runs wait.
    """
    raise NotImplementedError
