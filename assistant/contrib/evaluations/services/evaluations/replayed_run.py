"""Runs one question with an assistant outside of its conversations: the code path of a run, with `ToolAnswers`.

Called by evaluations, and by any check of the live configuration.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.db.models import Sum

from assistant.contrib.openai_api.services.stateless_runs import StatelessInput, open_stateless
from assistant.contrib.panel.services.prompt_tests.tool_answers import (
    Answered,
    AnsweredTools,
    RecordedCall,
    ToolAnswers,
)
from assistant.core.values.messages import Message as Spoken
from assistant.models import Conversation, Message, Run, ToolCall, UsageEntry
from assistant.models.conversations import ToolsInTests
from assistant.services.db.threads import in_database
from assistant.services.eventlog.configured import configured_log
from assistant.services.run_key import RunKey
from assistant.services.runs.manager import get_runs
from assistant.services.runs.prompt_tests import TestedRun
from assistant.services.tenancy.members import Member

__all__ = ["RecordedCall", "ReplayedCall", "ReplayedRun", "Spoken", "ToolAnswers", "replay"]

# The longest that one replayed run may take, also of an assistant without a limit of its own.
MAX_SECONDS = 600.0


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
    messages: Sequence[Spoken],
    answers: ToolAnswers,
    prompt_version_id: int | None = None,
    thread_id: uuid.UUID | None = None,
    seconds: float = MAX_SECONDS,
) -> ReplayedRun:
    """Answer the last of `messages` in the member's name, and return the outcome; only its usage stays stored.

    The run counts against spend limits and runs at once, is marked as a test, and is deleted when it has ended, with
    the question. Call it on the event loop; a command calls `get_runs().stop()` afterwards.

    Args:
        messages: the history without a system prompt, the user's question last.
        answers: how tools are answered; one for each run. By default nothing is called but read-only tools.
        prompt_version_id: a version of the assistant's prompt; None for the published one.
        thread_id: where it is stored while it runs, so that the caller can find what a process that died has left.
        seconds: how long the run may take. One that is stopped then has used tokens, and its `error_code` is
            `cancelled`.

    Raises:
        Refused: `thread_not_found` if the tenant has no such active assistant or version; `quota_exceeded` if a quota
            is used up; `limit_reached` if too many runs wait.
    """
    given = StatelessInput(
        run_id=f"replay-{uuid.uuid4().hex}",
        messages=tuple(messages),
        new=1,
        question=messages[-1].id,
        thread_id=thread_id,
        test=TestedRun(ToolsInTests.REPLAY, AnsweredTools(answers), prompt_version_id),
    )
    runs, began, is_late = get_runs(), time.perf_counter(), False
    key = (await open_stateless(member=member, assistant_slug=assistant_slug, given=given)).key
    discard = partial(discard_replay, tenant_id=key.tenant_id, thread_id=key.conversation_id, run_pk=key.pk)
    try:
        async with asyncio.timeout(seconds):
            await runs.ended(pk=key.pk)
    except BaseException as exc:
        await runs.cancel(member=member, run_id=given.run_id)
        await runs.ended(pk=key.pk)
        if not isinstance(exc, TimeoutError):
            await in_database(discard)
            raise
        is_late = True
    found = await in_database(_read, key=key, answers=answers)
    await in_database(discard)
    error = f"The answer took more than {seconds:.0f} seconds." if is_late and found.error else found.error
    return replace(found, seconds=time.perf_counter() - began, error=error)


def discard_replay(*, tenant_id: int, thread_id: uuid.UUID, run_pk: int | None = None) -> None:
    """Delete what a replay has stored, if it is there: its question may be another person's. Its usage stays.

    Args:
        run_pk: of the replay's run. What another process has stored there since, because it regarded this one as dead,
            is kept. None deletes what any process has stored.
    """
    own = Conversation.objects.filter(tenant_id=tenant_id, pk=thread_id)
    if run_pk is not None:
        own = own.filter(runs=run_pk)
    if own.filter(is_stateless=True, test_tools=ToolsInTests.REPLAY).delete()[0]:
        configured_log().forget([str(thread_id)])


def _read(*, key: RunKey, answers: ToolAnswers) -> ReplayedRun:
    rows = Run.objects.filter(tenant_id=key.tenant_id).select_related("prompt_version")
    run = rows.get(pk=key.pk)
    texts = Message.objects.filter(run=run, conversation__tenant_id=key.tenant_id, role=Message.Role.ASSISTANT)
    answer = "\n\n".join(text for text in texts.order_by("position").values_list("content", flat=True) if text)
    used = UsageEntry.objects.filter(tenant_id=key.tenant_id, run=run).aggregate(cost=Sum("cost"))
    is_finished = run.status == Run.Status.FINISHED
    return ReplayedRun(
        answer=answer,
        calls=tuple(_call(row, answers) for row in run.tool_calls.order_by("pk")),
        error="" if is_finished else run.error_message or f"The run ended as {run.status}.",
        error_code="" if is_finished else run.error_code or run.status,
        model=run.model,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        cost=used["cost"] or 0,
        prompt_number=run.prompt_version.number if run.prompt_version is not None else None,
    )


def _call(row: ToolCall, answers: ToolAnswers) -> ReplayedCall:
    return ReplayedCall(
        name=row.name,
        arguments=row.arguments,
        result=row.told or row.result,
        status=row.status,
        rule=row.rule,
        answered=answers.answered.get(row.call_id),
        would_ask=row.call_id in answers.would_ask,
        agent=row.agent,
    )
