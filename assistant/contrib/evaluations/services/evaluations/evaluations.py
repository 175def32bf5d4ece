"""Makes, starts and cancels evaluations, and stores what people judge and expect. Each change is audited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.contrib.evaluations.job_names import EVALUATE_JOB
from assistant.contrib.evaluations.models import Evaluation, EvaluationCase, EvaluationResult
from assistant.contrib.evaluations.models.evaluations import MAX_EVALUATIONS, MAX_QUESTIONS, UNDER_WAY
from assistant.contrib.evaluations.services.evaluations.questions import Question
from assistant.models import Assistant, Membership, PromptVersion, Tenant
from assistant.services.conversations.chat_reading import record_reading
from assistant.services.jobs import jobs
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import find_member

# Of a tenant: evaluations that are under way or wait at once.
MAX_UNDER_WAY = 2


class EvaluationRefused(ValueError):
    """Something cannot be done with an evaluation; the message can be shown to people."""


@transaction.atomic
def make_evaluation(
    *,
    assistant: Assistant,
    name: str,
    questions: Sequence[Question],
    version: PromptVersion | None = None,
    tools: str = Evaluation.Tools.STUB,
    judge_model: str = "",
    run_as: AbstractBaseUser | None = None,
    actor: audit_trail.Actor = None,
) -> Evaluation:
    """Store an evaluation of at most `MAX_QUESTIONS` questions. Reading other people's is recorded.

    Args:
        version: the draft; None for the newest one when it is run.
        run_as: the member in whose name it is run.

    Raises:
        EvaluationRefused: there is no question, the name is taken, or the tenant has too many evaluations.
    """
    if not questions:
        raise EvaluationRefused(_("There is no such question."))
    # Locked, so that two at once do not pass the limit.
    Tenant.objects.select_for_update().only("pk").get(pk=assistant.tenant_id)
    if Evaluation.objects.filter(tenant=assistant.tenant_id).count() >= MAX_EVALUATIONS:
        raise EvaluationRefused(_("There are too many evaluations. Delete one first."))
    try:
        with transaction.atomic():
            evaluation = Evaluation.objects.create(
                tenant_id=assistant.tenant_id,
                assistant=assistant,
                name=name,
                prompt_version=version,
                tools=tools,
                judge_model=judge_model,
                created_by_id=None if actor is None else actor.pk,
                run_as_id=None if run_as is None else run_as.pk,
            )
    except IntegrityError:
        raise EvaluationRefused(_("The assistant has an evaluation of this name.")) from None
    EvaluationCase.objects.bulk_create(
        [case_of(evaluation, question, position) for position, question in enumerate(questions[:MAX_QUESTIONS], 1)]
    )
    if actor is not None:
        others = {one.conversation for one in questions if one.conversation and one.conversation.user_id != actor.pk}
        for conversation in others:
            record_reading(reader=actor, conversation=conversation, reason=f"evaluation {name}")
    _record(evaluation, "evaluation.make", actor, {"questions": min(len(questions), MAX_QUESTIONS)})
    return evaluation


def case_of(evaluation: Evaluation, question: Question, position: int) -> EvaluationCase:
    """Return the unsaved case of a question."""
    return EvaluationCase(
        tenant_id=evaluation.tenant_id,
        evaluation=evaluation,
        conversation=question.conversation,
        position=position,
        question=question.text,
        history=list(question.history),
        recorded=list(question.recorded),
        expected_tool=question.expected_tool,
        expected_text=question.expected_text,
        reference=question.reference,
    )


@transaction.atomic
def begin(*, evaluation: Evaluation, actor: audit_trail.Actor = None, in_background: bool = True) -> None:
    """Forget the answers and judgements of an earlier replay, and begin a new one.

    Args:
        actor: who begins it. From now on it runs as the person whom `default_person` returns, so that nobody sees
            results of another person's tools. None leaves the person as it is.
        in_background: whether a server does it, as a job; if not, the caller does.

    Raises:
        EvaluationRefused: it is under way, too many of the tenant are, nobody is there in whose name it could run, or
            the operator has switched evaluations off.
    """
    if not settings.ASSISTANT_PROMPT_TESTS:
        raise EvaluationRefused(_("Evaluations are switched off in this deployment."))
    Tenant.objects.select_for_update().only("pk").get(pk=evaluation.tenant_id)
    evaluation.refresh_from_db()
    if evaluation.is_under_way:
        raise EvaluationRefused(_("This evaluation is being run already."))
    if Evaluation.objects.filter(tenant=evaluation.tenant_id, state__in=UNDER_WAY).count() >= MAX_UNDER_WAY:
        raise EvaluationRefused(_("Too many evaluations are being run. Wait for one, or cancel it."))
    if actor is not None:
        person = default_person(assistant=evaluation.assistant, actor=actor)  # type: ignore[arg-type]  # signed in
        evaluation.run_as_id = None if person is None else person.pk
    if member_of(evaluation) is None:
        raise EvaluationRefused(_("The person in whose name it would be run is not a member of this tenant."))
    EvaluationResult.objects.filter(case__evaluation=evaluation, tenant=evaluation.tenant_id).delete()
    evaluation.cases.update(verdict="", note="", judged_by=None, model_verdict="", model_reason="")
    evaluation.state = Evaluation.State.WAITING if in_background else Evaluation.State.RUNNING
    evaluation.problem, evaluation.started_at, evaluation.ended_at = "", timezone.now(), None
    evaluation.save(update_fields=["state", "problem", "started_at", "ended_at", "run_as"])
    if in_background:
        # In the past, because databases count microseconds and clocks may differ.
        due_at = timezone.now() - timedelta(seconds=1)
        actor_id = None if actor is None else actor.pk
        key = str(evaluation.pk)
        jobs.schedule(tenant_id=evaluation.tenant_id, name=EVALUATE_JOB, key=key, due_at=due_at, created_by=actor_id)
    details = {"questions": evaluation.cases.count(), "as": str(evaluation.run_as)}
    _record(evaluation, "evaluation.begin", actor, details)


@transaction.atomic
def cancel(*, evaluation: Evaluation, actor: audit_trail.Actor = None) -> bool:
    """Cancel a replay, whose process notices within seconds; return whether there was one."""
    jobs.cancel(tenant_id=evaluation.tenant_id, name=EVALUATE_JOB, key=str(evaluation.pk))
    own = Evaluation.objects.filter(pk=evaluation.pk, tenant=evaluation.tenant_id, state__in=UNDER_WAY)
    if not own.update(state=Evaluation.State.CANCELLED, ended_at=timezone.now()):
        return False
    _record(evaluation, "evaluation.cancel", actor)
    return True


@transaction.atomic
def finish(
    *, evaluation: Evaluation, lease: int, state: str, problem: str = "", called: Counter[str] | None = None
) -> None:
    """Store the end of a replay, unless it was cancelled or another process goes on with it.

    Args:
        lease: the primary key of the job by which the process holds the replay.
        called: counts the tools that were called for it.
    """
    if not jobs.give_up(tenant_id=evaluation.tenant_id, pk=lease):
        return
    own = Evaluation.objects.filter(pk=evaluation.pk, tenant=evaluation.tenant_id, state__in=UNDER_WAY)
    if own.update(state=state, problem=problem[:300], ended_at=timezone.now()):
        _record(evaluation, "evaluation.end", evaluation.run_as, {"state": state, "called": dict(called or {})})


@transaction.atomic
def judge(*, case: EvaluationCase, verdict: str, note: str = "", actor: audit_trail.Actor = None) -> None:
    """Store what a person thinks of the draft's answer; "" takes the judgement back."""
    before, case.verdict, case.note = case.verdict, verdict, note
    case.judged_by_id = None if actor is None or not verdict else actor.pk
    case.save(update_fields=["verdict", "note", "judged_by"])
    if before != verdict:
        _record(case.evaluation, "evaluation.judge", actor, {"question": case.position, "values": [before, verdict]})


@transaction.atomic
def expect(*, case: EvaluationCase, tool: str, text: str, actor: audit_trail.Actor = None) -> None:
    """Store what is expected of the answers to a question; existing answers are judged again."""
    case.expected_tool, case.expected_text = tool, text
    case.save(update_fields=["expected_tool", "expected_text"])
    for result in case.results.all():
        result.is_passed = is_as_expected(case, answer=result.answer, calls=result.calls, error=result.error)
        result.save(update_fields=["is_passed"])
    _record(case.evaluation, "evaluation.expect", actor, {"question": case.position, "tool": tool})


def is_as_expected(case: EvaluationCase, *, answer: str, calls: Sequence[Any], error: str) -> bool | None:
    """Return whether an answer is as a question expects; None if nothing is expected.

    The expected tool must have been called and not refused; upper and lower case of the expected text do not matter.
    """
    if not case.expected_tool and not case.expected_text:
        return None
    names = {call["name"] for call in calls if call["status"] != "refused"}
    has_tool = not case.expected_tool or case.expected_tool in names
    return not error and has_tool and case.expected_text.casefold() in answer.casefold()


def member_of(evaluation: Evaluation) -> Any:
    """Return the member in whose name an evaluation runs; None if they are no active member any more."""
    if evaluation.run_as_id is None:
        return None
    return find_member(user_id=evaluation.run_as_id, tenant_slug=evaluation.tenant.slug)


def default_person(*, assistant: Assistant, actor: AbstractBaseUser) -> AbstractBaseUser | None:
    """Return in whose name somebody's evaluations run: their own, for an operator the oldest owner's or admin's."""
    people = get_user_model()._base_manager.filter(is_active=True, assistant_memberships__tenant=assistant.tenant_id)
    own = people.filter(pk=actor.pk).exclude(assistant_memberships__role=Membership.Role.END_USER).first()
    if own is not None or not getattr(actor, "is_superuser", False):
        return own
    roles = (Membership.Role.OWNER, Membership.Role.ADMIN)
    admins = Membership.objects.filter(tenant=assistant.tenant_id, role__in=roles, user__is_active=True)
    first = admins.select_related("user").order_by("pk").first()
    return None if first is None else first.user


def draft_of(evaluation: Evaluation) -> PromptVersion | None:
    """Return the version that is compared: the chosen one, else the newest draft, or None."""
    if evaluation.prompt_version is not None:
        return evaluation.prompt_version
    versions = PromptVersion.objects.filter(
        assistant=evaluation.assistant_id, assistant__tenant=evaluation.tenant_id, status=PromptVersion.Status.DRAFT
    )
    return versions.order_by("-number").first()


def _record(
    evaluation: Evaluation, action: str, actor: audit_trail.Actor, details: dict[str, Any] | None = None
) -> None:
    audit_trail.record(
        actor=actor,
        action=action,
        target=f"{evaluation.assistant.slug}: {evaluation.name}",
        tenant=evaluation.tenant,
        details=details,
    )
