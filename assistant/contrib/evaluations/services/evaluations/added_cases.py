"""Adds single questions to an assistant's evaluation of annotations, such as one that somebody has annotated."""

from __future__ import annotations

from itertools import count

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from assistant.contrib.evaluations.models import Evaluation, EvaluationCase
from assistant.contrib.evaluations.models.evaluations import MAX_QUESTIONS
from assistant.contrib.evaluations.services.evaluations.evaluations import (
    EvaluationRefused,
    case_of,
    default_person,
    make_evaluation,
)
from assistant.contrib.evaluations.services.evaluations.questions import Question
from assistant.models import Assistant, Tenant
from assistant.services.conversations.chat_reading import record_reading
from assistant.services.tenancy import audit_trail


@transaction.atomic
def add_case(*, assistant: Assistant, question: Question, actor: audit_trail.Actor) -> EvaluationCase:
    """Add a question to the assistant's newest evaluation of annotations that has room, or make one.

    A question that is in one already gets what is expected now in place of what was expected. Reading other people's
    is recorded.

    Raises:
        EvaluationRefused: the evaluation is being run, or the tenant has too many.
    """
    # Locked, so that two at once do not take one position.
    Tenant.objects.select_for_update().only("pk").get(pk=assistant.tenant_id)
    name = _("Annotations")
    own = Evaluation.objects.filter(assistant=assistant, tenant=assistant.tenant_id, name__startswith=name)
    known = EvaluationCase.objects.filter(
        evaluation__in=own, tenant=assistant.tenant_id, conversation=question.conversation, question=question.text
    ).first()
    if known is not None:
        known.expected_text = question.expected_text
        known.reference = question.reference
        known.save(update_fields=["expected_text", "reference"])
        _record(known, actor)
        return known
    sums = own.annotate(last=Max("cases__position")).order_by("-created_at", "-pk")
    evaluation = next((one for one in sums if (one.last or 0) < MAX_QUESTIONS), None)
    if evaluation is None:
        taken = set(own.values_list("name", flat=True))
        free = next(one for number in count(1) if (one := name if number == 1 else f"{name} {number}") not in taken)
        person = None if actor is None else default_person(assistant=assistant, actor=actor)  # type: ignore[arg-type]  # signed in
        made = make_evaluation(assistant=assistant, name=free, questions=[question], run_as=person, actor=actor)
        return EvaluationCase.objects.get(evaluation=made, tenant=assistant.tenant_id)
    if evaluation.is_under_way:
        raise EvaluationRefused(_("This evaluation is being run already."))
    case = case_of(evaluation, question, (evaluation.last or 0) + 1)
    case.save()
    if actor is not None and question.conversation is not None and question.conversation.user_id != actor.pk:
        record_reading(reader=actor, conversation=question.conversation, reason=f"evaluation {evaluation.name}")
    _record(case, actor)
    return case


def _record(case: EvaluationCase, actor: audit_trail.Actor) -> None:
    audit_trail.record(
        actor=actor,
        action="evaluation.add",
        target=f"{case.evaluation.assistant.slug}: {case.evaluation.name}",
        tenant=case.evaluation.tenant,
        details={"question": case.position},
    )
