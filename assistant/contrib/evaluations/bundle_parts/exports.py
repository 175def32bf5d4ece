"""What bundles have of this app: a tenant's own hostile checks, and evaluations of questions that were typed in."""

from __future__ import annotations

from typing import Annotated, Literal

from django.db.models import Exists, OuterRef, QuerySet
from pydantic import Field, StringConstraints

from assistant.contrib.bundles.services.format import Part, Slug, ToolName
from assistant.contrib.evaluations.models import Evaluation, EvaluationCase, HostileCheck
from assistant.contrib.evaluations.models.evaluations import MAX_EXPECTED, MAX_QUESTION, MAX_QUESTIONS
from assistant.contrib.evaluations.models.hostile_checks import MAX_FORBIDDEN, MAX_PLANTED
from assistant.contrib.evaluations.models.hostile_checks import MAX_QUESTION as MAX_CHECK_QUESTION
from assistant.models import Assistant, Tenant
from assistant.services.assistants.configuration import MAX_MODEL_NAME


class HostileCheckPart(Part):
    """A hostile check of the tenant's own, for one assistant or, without one, for all."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    assistant: Slug | None
    question: Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHECK_QUESTION)]
    planted_tool: ToolName
    planted_result: Annotated[str, StringConstraints(max_length=MAX_PLANTED)]
    forbidden_tool: ToolName
    forbidden_text: Annotated[str, StringConstraints(max_length=MAX_FORBIDDEN)]
    forbidden_value: Annotated[str, StringConstraints(max_length=MAX_FORBIDDEN)]
    is_active: bool


class QuestionPart(Part):
    """A question of an evaluation that was typed in, and what is expected of its answers."""

    question: Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUESTION)]
    expected_tool: ToolName
    expected_text: Annotated[str, StringConstraints(max_length=MAX_EXPECTED)]


class EvaluationPart(Part):
    """An evaluation of questions that were typed in, without answers and judgements."""

    assistant: Slug
    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    tools: Literal["stub", "call"]
    judge_model: Annotated[str, StringConstraints(max_length=MAX_MODEL_NAME)]
    questions: Annotated[list[QuestionPart], Field(min_length=1, max_length=MAX_QUESTIONS)]


# Columns of a check that are compared as they are.
CHECK_COLUMNS = tuple(name for name in HostileCheckPart.model_fields if name not in ("name", "assistant"))


def exported_checks(tenant: Tenant, assistant: Assistant | None) -> list[HostileCheckPart]:
    """Return a tenant's own checks; of an assistant those that are for it alone."""
    rows = HostileCheck.objects.filter(tenant=tenant, **({} if assistant is None else {"assistant": assistant}))
    return [_check_part(row) for row in rows.select_related("assistant").order_by("name")]


def exported_evaluations(tenant: Tenant, assistant: Assistant | None) -> list[EvaluationPart]:
    """Return a tenant's, or an assistant's, evaluations of questions that were typed in."""
    rows = read_evaluations(tenant)
    return [_evaluation_part(row) for row in (rows if assistant is None else rows.filter(assistant=assistant))]


def read_evaluations(tenant: Tenant) -> QuerySet[Evaluation]:
    """Return a tenant's evaluations all of whose questions were typed in, with these.

    What members asked in conversations is no configuration.
    """
    asked = EvaluationCase.objects.filter(tenant=tenant, evaluation=OuterRef("pk"))
    rows = Evaluation.objects.filter(Exists(asked), ~Exists(asked.filter(conversation__isnull=False)), tenant=tenant)
    return rows.select_related("assistant").prefetch_related("cases").order_by("assistant__slug", "name")


def _check_part(row: HostileCheck) -> HostileCheckPart:
    slug = row.assistant.slug if row.assistant is not None else None
    return HostileCheckPart(name=row.name, assistant=slug, **{name: getattr(row, name) for name in CHECK_COLUMNS})


def _evaluation_part(row: Evaluation) -> EvaluationPart:
    return EvaluationPart(
        assistant=row.assistant.slug,
        name=row.name,
        tools=row.tools,  # type: ignore[arg-type]  # one of the choices
        judge_model=row.judge_model,
        questions=[
            QuestionPart(question=case.question, expected_tool=case.expected_tool, expected_text=case.expected_text)
            for case in row.cases.all()
        ],
    )
