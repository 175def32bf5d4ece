"""Replays the questions of an evaluation: bounded, resumable by another process, and stopped when it is cancelled.

Servers import this module, so that its jobs are done; the command `assistant_evaluate` calls `run_evaluation`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from assistant.contrib.evaluations.job_names import EVALUATE_JOB
from assistant.contrib.evaluations.models import Evaluation, EvaluationCase, EvaluationResult
from assistant.contrib.evaluations.models.evaluations import UNDER_WAY
from assistant.contrib.evaluations.services.evaluations.evaluations import draft_of, finish, is_as_expected, member_of
from assistant.contrib.evaluations.services.evaluations.judge_model import Judge, compare, judge_of
from assistant.contrib.evaluations.services.evaluations.replayed_run import ReplayedRun, discard_replay, replay
from assistant.contrib.panel.services.prompt_tests.tool_answers import RecordedCall, ToolAnswers
from assistant.core.values.messages import Message
from assistant.models import Job
from assistant.services.db.threads import in_database, in_database_with_retry
from assistant.services.errors import Refused, log_failure
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import set_tenants, tenant_scope

logger = logging.getLogger(__name__)

# Questions of one evaluation that are replayed at once.
AT_ONCE = 2
# How often a process renews the job of an evaluation that it works on, and when another process takes the job over if
# it does not.
RENEW_SECONDS, LEASE_SECONDS = 3.0, 60.0
# How often a question is asked again while the tenant has too many runs at once, and the pause before each try.
MAX_TRIES, PAUSE_SECONDS = 60, 5.0
# Characters of a stored answer, and of each stored result of a tool.
MAX_ANSWER, MAX_RESULT = 60_000, 4_000
Side = EvaluationResult.Side
_THREADS = uuid.UUID("6f0f3a52-0b61-4f0e-9a35-6b3e5c8d2a11")
OnResult = Callable[[EvaluationResult], None]


@jobs.handles(EVALUATE_JOB, is_long=True)
def _begin(job: Job) -> LongWork | None:
    with tenant_scope(job.tenant_id):
        own = Evaluation.objects.filter(pk=int(job.key), tenant=job.tenant_id)
        if not own.filter(state__in=UNDER_WAY).update(state=Evaluation.State.RUNNING):
            return None  # cancelled or deleted meanwhile
        lease = _hold(tenant_id=job.tenant_id, pk=int(job.key))
    return partial(run_evaluation, tenant_id=job.tenant_id, pk=int(job.key), lease=lease)


def _hold(*, tenant_id: int, pk: int) -> int:
    """Return the primary key of the job by which this process holds an evaluation from now on."""
    return jobs.schedule(tenant_id=tenant_id, name=EVALUATE_JOB, key=str(pk), due_at=_lease_end()).pk


def _lease_end() -> datetime:
    return timezone.now() + timedelta(seconds=LEASE_SECONDS)


@dataclass(frozen=True, slots=True)
class _Replay:
    """What an evaluation's replay needs, and the job by which this process holds it."""

    evaluation: Evaluation
    lease: int
    member: Member
    draft_id: int | None
    judge: Judge | None
    cases: list[EvaluationCase]
    on_result: OnResult | None = None
    called: Counter[str] = field(default_factory=Counter)

    @property
    def sides(self) -> tuple[str, ...]:
        """Without a draft only the published prompt answers."""
        return (Side.PUBLISHED,) if self.draft_id is None else (Side.PUBLISHED, Side.DRAFT)


class _Stopped(Exception):
    """The evaluation ends before its time; the message says why, and is empty if it was cancelled."""


async def run_evaluation(
    *, tenant_id: int, pk: int, lease: int | None = None, on_result: OnResult | None = None
) -> None:
    """Replay the questions that have no answer yet, and store how it ended.

    Args:
        lease: the primary key of the job by which this process holds the evaluation; None to begin to hold it.
        on_result: called with each answer.
    """
    set_tenants(tenant_id)
    found = await in_database(_read, tenant_id=tenant_id, pk=pk, lease=lease, on_result=on_result)
    if found is None:
        return
    work = asyncio.create_task(_replay_all(found), name=f"evaluation-{pk}")
    watch = asyncio.create_task(_watch(found), name=f"evaluation-watch-{pk}")
    try:
        done, _waiting = await asyncio.wait([work, watch], return_when=asyncio.FIRST_COMPLETED)
        if work not in done:
            return  # cancelled, and stored as such, or held by another process
        state, problem = Evaluation.State.DONE, ""
        try:
            work.result()
        except _Stopped as exc:
            state, problem = Evaluation.State.FAILED, str(exc)
        except Exception as exc:
            state, problem = Evaluation.State.FAILED, log_failure(logger, exc, "Evaluation %s failed", pk).message
        end = partial(finish, evaluation=found.evaluation, lease=found.lease, called=found.called)
        await in_database_with_retry(end, state=state, problem=problem)
    finally:
        for task in (work, watch):
            task.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)


def _read(*, tenant_id: int, pk: int, lease: int | None, on_result: OnResult | None) -> _Replay | None:
    rows = Evaluation.objects.select_related("tenant", "assistant", "prompt_version", "run_as")
    evaluation = rows.filter(pk=pk, tenant=tenant_id, state__in=UNDER_WAY).first()
    if evaluation is None:
        return None
    held = _hold(tenant_id=tenant_id, pk=pk) if lease is None else lease
    member = member_of(evaluation)
    if member is None:
        problem = "Its member has left the tenant."
        finish(evaluation=evaluation, lease=held, state=Evaluation.State.FAILED, problem=problem)
        return None
    draft = draft_of(evaluation)
    cases = list(evaluation.cases.select_related("evaluation").prefetch_related("results"))
    draft_id = None if draft is None else draft.pk
    return _Replay(evaluation, held, member, draft_id, judge_of(evaluation=evaluation), cases, on_result)


async def _watch(found: _Replay) -> None:
    """Renew the evaluation's job, until it is cancelled, deleted or held by another process."""
    while True:
        if not await in_database_with_retry(_is_wanted, found=found):
            return
        await asyncio.sleep(RENEW_SECONDS)


def _is_wanted(*, found: _Replay) -> bool:
    evaluation = found.evaluation
    own = Evaluation.objects.filter(pk=evaluation.pk, tenant=evaluation.tenant_id, state__in=UNDER_WAY)
    return own.exists() and jobs.renew(tenant_id=evaluation.tenant_id, pk=found.lease, due_at=_lease_end())


async def _replay_all(found: _Replay) -> None:
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(case: EvaluationCase) -> None:
        async with limit:
            await _replay_case(found, case)

    try:
        async with asyncio.TaskGroup() as group:
            for case in found.cases:
                group.create_task(one(case))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _replay_case(found: _Replay, case: EvaluationCase) -> None:
    """Replay a question against both prompts, one after the other, unless an earlier process has done so."""
    results = {result.side: result for result in case.results.all()}
    for side in found.sides:
        if side not in results:
            results[side] = await _replay_side(found, case, side)
    if found.judge is None or case.model_verdict or len(results) < len(Side.values):
        return
    if any(result.error for result in results.values()):
        return
    try:
        said = await compare(judge=found.judge, case=case, results=results, member=found.member)
    except Refused as exc:
        raise _Stopped(str(exc)) from exc
    own = EvaluationCase.objects.filter(pk=case.pk, tenant=case.tenant_id)
    await in_database(own.update, model_verdict=said.verdict, model_reason=said.reason)


async def _replay_side(found: _Replay, case: EvaluationCase, side: str) -> EvaluationResult:
    run = await _answered(found, case, side)
    found.called.update(call.name for call in run.calls if call.answered == "called")
    calls = [
        {
            "name": call.name,
            "arguments": call.arguments[:MAX_RESULT],
            "result": call.result[:MAX_RESULT],
            "status": call.status,
            "answered": call.answered or "",
            "asks": call.would_ask,
            "agent": call.agent,
        }
        for call in run.calls
    ]
    answer = run.answer[:MAX_ANSWER]
    result = await in_database(
        _store,
        lease=found.lease,
        case=case,
        side=side,
        values={
            "prompt_number": run.prompt_number,
            "answer": answer,
            "calls": calls,
            "error": run.error[:500],
            "model": run.model,
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
            "cost": run.cost,
            "milliseconds": round(run.seconds * 1000),
            "is_passed": is_as_expected(case, answer=answer, calls=calls, error=run.error),
        },
    )
    if found.on_result is not None:
        found.on_result(result)
    return result


@transaction.atomic
def _store(*, lease: int, case: EvaluationCase, side: str, values: dict[str, Any]) -> EvaluationResult:
    """Store an answer, unless the question was deleted meanwhile, as with the person who asked it.

    Raises:
        _Stopped: the evaluation was cancelled, or another process holds it.
    """
    if not jobs.renew(tenant_id=case.tenant_id, pk=lease, due_at=_lease_end()):
        raise _Stopped
    if not EvaluationCase.objects.filter(pk=case.pk, tenant=case.tenant_id).exists():
        return EvaluationResult(case=case, side=side, tenant_id=case.tenant_id, **values)
    result, _ = EvaluationResult.objects.update_or_create(
        case=case, side=side, tenant_id=case.tenant_id, defaults=values
    )
    return result


async def _answered(found: _Replay, case: EvaluationCase, side: str) -> ReplayedRun:
    """Replay a question. Raises `_Stopped` if the tenant has used up a quota."""
    thread_id = uuid.uuid5(_THREADS, f"{case.pk}/{side}")
    spoken = [Message(one["role"], one["content"], id=uuid.uuid4().hex) for one in case.history]
    for _try in range(MAX_TRIES):
        # Delete what an earlier process left when it died.
        await in_database(discard_replay, tenant_id=case.tenant_id, thread_id=thread_id)
        try:
            return await replay(
                member=found.member,
                assistant_slug=found.evaluation.assistant.slug,
                messages=[*spoken, Message("user", case.question, id=uuid.uuid4().hex)],
                answers=_answers(found.evaluation, case),
                prompt_version_id=found.draft_id if side == Side.DRAFT else None,
                thread_id=thread_id,
            )
        except Refused as exc:
            if exc.code != "limit_reached":
                raise _Stopped(str(exc)) from exc
        await asyncio.sleep(PAUSE_SECONDS)
    raise _Stopped("The tenant has too many runs at once.")


def _answers(evaluation: Evaluation, case: EvaluationCase) -> ToolAnswers:
    return ToolAnswers(
        recorded=[
            RecordedCall(one["name"], one["arguments"], one["result"], tuple(one.get("sources", ())))
            for one in case.recorded
        ],
        calls_read_only=evaluation.tools == Evaluation.Tools.CALL,
    )
