"""Makes the checks of an assistant one after the other, within limits.

Another process can continue them, and they can be cancelled. Servers import this module, so that its jobs
are done; the command `assistant_hostile_checks` calls `make_checks`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from assistant.contrib.evaluations.job_names import HOSTILE_CHECKS_JOB
from assistant.contrib.evaluations.models import HostileCheckResult, HostileCheckRun
from assistant.contrib.evaluations.models.hostile_checks import UNDER_WAY
from assistant.contrib.evaluations.services.evaluations.replayed_run import (
    ReplayedRun,
    ToolAnswers,
    discard_replay,
    replay,
)
from assistant.contrib.evaluations.services.hostile_checks.cases import Case, own_cases
from assistant.contrib.evaluations.services.hostile_checks.checks import (
    finish_checks,
    is_under_way,
    member_of,
    schedule,
)
from assistant.contrib.evaluations.services.hostile_checks.shipped import Situation, shipped_cases
from assistant.contrib.evaluations.services.hostile_checks.verdicts import Verdict, verdict_of
from assistant.contrib.panel.services.prompt_tests.simulation import Simulation, simulate
from assistant.core.values.messages import Message
from assistant.core.values.pricing import MILLIONTHS
from assistant.models import Job, PromptVersion
from assistant.services.db.threads import in_database, in_database_with_retry
from assistant.services.errors import Refused, log_failure
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.runs.run_configurations import configuration_of
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import set_tenants, tenant_scope

logger = logging.getLogger(__name__)

# One check, and all checks of a run together.
CASE_SECONDS, RUN_SECONDS = 120.0, 3600.0
# How often a process renews the job of checks that it makes, and when another process takes the job over if it does
# not.
RENEW_SECONDS, LEASE_SECONDS = 3.0, 60.0
# How often a question is asked again while the tenant has too many runs at once, and the pause before each try.
MAX_TRIES, PAUSE_SECONDS = 24, 5.0
# Characters of a stored answer, of each call's arguments, and calls of one check.
MAX_ANSWER, MAX_ARGUMENTS, MAX_CALLS = 20_000, 4_000, 50
_THREADS = uuid.UUID("0d6d5b0e-43b3-4a3d-8a0c-6a9a3c7f2b90")
_COUNTED = {
    HostileCheckResult.Outcome.PASSED: "passed",
    HostileCheckResult.Outcome.FAILED: "failed",
    HostileCheckResult.Outcome.ERROR: "undecided",
    HostileCheckResult.Outcome.SKIPPED: "undecided",
}
OnResult = Callable[[HostileCheckResult], None]


class _Stopped(Exception):
    """The checks end before all are made; the message says why."""


@dataclass(frozen=True, slots=True)
class _Work:
    """Checks that are left to be made, in the name of a member, with their places in the list of all."""

    run: HostileCheckRun
    member: Member
    cases: list[tuple[int, Case]]


@jobs.handles(HOSTILE_CHECKS_JOB, is_long=True)
def _begin(job: Job) -> LongWork | None:
    with tenant_scope(job.tenant_id):
        run = HostileCheckRun.objects.filter(pk=int(job.key), tenant=job.tenant_id, state__in=UNDER_WAY).first()
        if run is None:
            return None  # cancelled or deleted meanwhile
        lease = schedule(run, _lease_end())
    return partial(make_checks, tenant_id=job.tenant_id, pk=run.pk, lease=lease)


def _lease_end() -> datetime:
    return timezone.now() + timedelta(seconds=LEASE_SECONDS)


async def make_checks(*, tenant_id: int, pk: int, lease: int | None = None, on_result: OnResult | None = None) -> None:
    """Make the checks of a run that have no result yet, and store how it ended.

    Args:
        lease: the primary key of the job by which this process holds the checks; None to begin to hold them.
        on_result: called with each result.
    """
    set_tenants(tenant_id)
    run = await in_database(_run_of, tenant_id=tenant_id, pk=pk)
    if run is None:
        return
    held = await in_database(schedule, run, _lease_end()) if lease is None else lease
    work = asyncio.create_task(_make_all(run, held, on_result), name=f"checks-{pk}")
    watch = asyncio.create_task(_watch(run, held), name=f"checks-watch-{pk}")
    try:
        done, _waiting = await asyncio.wait([work, watch], timeout=RUN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if watch in done and work not in done:
            return  # cancelled, and stored as such, or held by another process
        await in_database_with_retry(finish_checks, run=run, lease=held, problem=_problem(work, pk))
    finally:
        for task in (work, watch):
            task.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)


def _problem(work: asyncio.Task[None], pk: int) -> str:
    """Return why not all checks were made; "" if all were."""
    if not work.done():
        return "The checks took too long."
    try:
        work.result()
    except (_Stopped, Refused) as exc:
        return str(exc)
    except Exception as exc:
        return log_failure(logger, exc, "Checks %s failed", pk).message
    return ""


def _run_of(*, tenant_id: int, pk: int) -> HostileCheckRun | None:
    rows = HostileCheckRun.objects.select_related("tenant", "assistant__tenant", "created_by")
    return rows.filter(pk=pk, tenant=tenant_id, state__in=UNDER_WAY).first()


async def _watch(run: HostileCheckRun, lease: int) -> None:
    """Renew the job of a run, until it is cancelled, deleted or held by another process."""
    while True:
        if not await in_database_with_retry(_is_wanted, run=run, lease=lease):
            return
        await asyncio.sleep(RENEW_SECONDS)


def _is_wanted(*, run: HostileCheckRun, lease: int) -> bool:
    return is_under_way(run) and jobs.renew(tenant_id=run.tenant_id, pk=lease, due_at=_lease_end())


async def _make_all(run: HostileCheckRun, lease: int, on_result: OnResult | None) -> None:
    work = await in_database(_prepared, run=run)
    for position, case in work.cases:
        if case.missing:
            replayed, verdict = None, Verdict(HostileCheckResult.Outcome.SKIPPED, case.missing)
        else:
            replayed = await _asked(work, case)
            verdict = verdict_of(case, replayed)
        store = partial(_store, run=run, lease=lease, position=position, case=case)
        result = await in_database(store, verdict=verdict, replayed=replayed)
        if on_result is not None:
            on_result(result)


def _prepared(*, run: HostileCheckRun) -> _Work:
    """Return the checks that have no result yet, and store the configuration that they are made with."""
    member = member_of(run)
    if member is None:
        raise _Stopped("The person in whose name it was asked has left the tenant.")
    found = simulate(member=member, assistant_slug=run.assistant.slug)
    if found is None:
        raise _Stopped("The assistant is not active.")
    tools = [(entry.tool, entry.policy) for entry in found.setup.tools]
    situation = Situation(found.setup.system_prompt, tools)
    cases = [*shipped_cases(situation), *own_cases(assistant=run.assistant, tools=[tool for tool, _ in tools])]
    own = HostileCheckRun.objects.filter(pk=run.pk, tenant=run.tenant_id, state__in=UNDER_WAY)
    own.update(state=HostileCheckRun.State.RUNNING, started_at=timezone.now(), configuration=_configuration(found))
    made = set(HostileCheckResult.objects.filter(run=run, tenant=run.tenant_id).values_list("key", flat=True))
    return _Work(run, member, [(place, case) for place, case in enumerate(cases, 1) if case.key not in made])


def _configuration(found: Simulation) -> dict[str, Any]:
    """Return what the checks are made with: as of a run, and the prompt by its version and its hash."""
    digest = hashlib.sha256(found.setup.system_prompt.encode()).hexdigest()
    published = PromptVersion.objects.filter(
        assistant=found.state.assistant, assistant__tenant=found.member.tenant_id, status="published"
    )
    number = published.values_list("number", flat=True).first()
    kept = configuration_of(found.setup)
    return {**kept.content, "digest": kept.digest, "prompt": {"version": number, "sha256": digest}}


async def _asked(work: _Work, case: Case) -> ReplayedRun:
    """Ask a check's question. Raises `_Stopped` if a limit is used up."""
    run = work.run
    thread_id = uuid.uuid5(_THREADS, f"{run.pk}/{case.key}")
    recorded = [] if case.planted is None else [case.planted]
    for _try in range(MAX_TRIES):
        await in_database(_check_cost, run=run)
        # Delete what an earlier process left when it died.
        await in_database(discard_replay, tenant_id=run.tenant_id, thread_id=thread_id)
        try:
            return await replay(
                member=work.member,
                assistant_slug=run.assistant.slug,
                messages=[Message("user", case.question, id=uuid.uuid4().hex)],
                answers=ToolAnswers(recorded=recorded, calls_read_only=False),
                thread_id=thread_id,
                seconds=CASE_SECONDS,
            )
        except Refused as exc:
            if exc.code != "limit_reached":
                raise _Stopped(str(exc)) from exc
        await asyncio.sleep(PAUSE_SECONDS)
    raise _Stopped("The tenant has too many runs at once.")


def _check_cost(*, run: HostileCheckRun) -> None:
    limit = settings.ASSISTANT_HOSTILE_CHECKS_MAX_COST
    spent = HostileCheckRun.objects.filter(pk=run.pk, tenant=run.tenant_id).values_list("cost", flat=True).first() or 0
    if limit and spent >= limit * MILLIONTHS:
        cost = f"{settings.ASSISTANT_CURRENCY} {spent / MILLIONTHS:.2f}"
        raise _Stopped(f"The checks have cost {cost}; ASSISTANT_HOSTILE_CHECKS_MAX_COST allows {limit}.")


@transaction.atomic
def _store(
    *, run: HostileCheckRun, lease: int, position: int, case: Case, verdict: Verdict, replayed: ReplayedRun | None
) -> HostileCheckResult:
    """Store a check's result. Raises `_Stopped` if the checks were cancelled, or another process holds them."""
    if not jobs.renew(tenant_id=run.tenant_id, pk=lease, due_at=_lease_end()):
        raise _Stopped
    replayed = replayed or ReplayedRun("")
    calls = [
        {
            "name": call.name,
            "arguments": call.arguments[:MAX_ARGUMENTS],
            "status": call.status,
            "rule": call.rule[:300],
            "ran": call.answered is not None,
            "asks": call.would_ask,
            "agent": call.agent,
        }
        for call in replayed.calls[:MAX_CALLS]
    ]
    result = HostileCheckResult.objects.create(
        tenant_id=run.tenant_id,
        run=run,
        position=position,
        key=case.key,
        kind=case.kind,
        name=case.name,
        question=case.question,
        planted_tool=case.planted.name if case.planted is not None else "",
        planted_result=case.planted.result if case.planted is not None else "",
        outcome=verdict.outcome,
        reason=verdict.reason[:500],
        answer=replayed.answer[:MAX_ANSWER],
        calls=calls,
        model=replayed.model,
        input_tokens=replayed.input_tokens,
        output_tokens=replayed.output_tokens,
        cost=replayed.cost,
        milliseconds=round(replayed.seconds * 1000),
    )
    count = _COUNTED[verdict.outcome]
    own = HostileCheckRun.objects.filter(pk=run.pk, tenant=run.tenant_id)
    own.update(**{count: F(count) + 1}, cost=F("cost") + replayed.cost)
    return result
