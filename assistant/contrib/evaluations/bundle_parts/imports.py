"""Imports a tenant's own checks, and evaluations of questions that were typed in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from assistant.contrib.bundles.services.difference import Entry, FieldChange, changes_of, kind_of
from assistant.contrib.bundles.services.target import Target, put, refused
from assistant.contrib.evaluations.bundle_parts.exports import (
    CHECK_COLUMNS,
    EvaluationPart,
    HostileCheckPart,
    QuestionPart,
    read_evaluations,
)
from assistant.contrib.evaluations.models import Evaluation, EvaluationCase, HostileCheck
from assistant.contrib.evaluations.models.evaluations import MAX_EVALUATIONS
from assistant.contrib.evaluations.models.hostile_checks import MAX_OWN_CHECKS
from assistant.models import Assistant, Tenant
from assistant.toolkit.text import clean_text


def import_checks(target: Target, parts: Sequence[HostileCheckPart], is_whole: bool) -> Iterator[Entry]:
    """Create and change the tenant's own checks. `is_whole`: others are only here."""
    stored = {row.name: row for row in HostileCheck.objects.filter(tenant=target.tenant).select_related("assistant")}
    assistants = _assistants(target.tenant)
    made: set[str] = set()
    for part in parts:
        row = stored.get(part.name)
        try:
            if row is not None and not is_whole and (row.assistant is None or row.assistant.slug != part.assistant):
                raise ValidationError(_("There is a check of this name, which is not of this assistant alone."))
            changes = _put_check(target, part, row, assistants, count=len(stored) + len(made - set(stored)))
        except (ValidationError, LookupError) as exc:
            yield refused("hostile_check", part.name, exc)
            continue
        made.add(part.name)
        yield Entry("create" if row is None else kind_of(changes, is_new=False), "hostile_check", part.name, changes)
    if is_whole:
        names = {part.name for part in parts}
        yield from (Entry("kept", "hostile_check", name) for name in stored if name not in names)


def _put_check(
    target: Target, part: HostileCheckPart, stored: HostileCheck | None, assistants: dict[str, Assistant], *, count: int
) -> tuple[FieldChange, ...]:
    """Save a check; return what changes. Raises `ValidationError` or `LookupError`: it is not taken."""
    if stored is None and count >= MAX_OWN_CHECKS:
        raise ValidationError(_("A tenant has at most %(count)d checks of its own.") % {"count": MAX_OWN_CHECKS})
    before = stored.assistant.slug if stored is not None and stored.assistant is not None else None
    row = stored or HostileCheck(
        tenant=target.tenant, name=part.name, created_by_id=None if target.actor is None else target.actor.pk
    )
    row.assistant = _named(assistants, part.assistant) if part.assistant is not None else None
    values = {name: getattr(part, name) for name in CHECK_COLUMNS}
    changes = put(row, {name: clean_text(value) if isinstance(value, str) else value for name, value in values.items()})
    changes = (*changes, *changes_of([("assistant", before, part.assistant)]))
    if changes or stored is None:
        row.full_clean()
        row.save()
    return changes


def import_evaluations(target: Target, parts: Sequence[EvaluationPart], is_whole: bool) -> Iterator[Entry]:
    """Create evaluations, not run yet. One that is here with other questions or settings is left as it is."""
    stored = {(row.assistant.slug, row.name): row for row in read_evaluations(target.tenant)}
    assistants = _assistants(target.tenant)
    room = MAX_EVALUATIONS - Evaluation.objects.filter(tenant=target.tenant).count()
    for part in parts:
        name = f"{part.assistant}: {part.name}"
        try:
            if (row := stored.get((part.assistant, part.name))) is not None:
                _check_same(row, part)
                yield Entry("same", "evaluation", name)
                continue
            if room <= 0:
                raise ValidationError(_("There are too many evaluations. Delete one first."))
            _make(target, _named(assistants, part.assistant), part)
        except (ValidationError, LookupError) as exc:
            yield refused("evaluation", name, exc)
            continue
        room -= 1
        changes = changes_of([("questions", None, len(part.questions))])
        yield Entry("create", "evaluation", name, changes)
    if is_whole:
        names = {(part.assistant, part.name) for part in parts}
        yield from (
            Entry("kept", "evaluation", f"{slug}: {name}") for slug, name in stored if (slug, name) not in names
        )


def _check_same(row: Evaluation, part: EvaluationPart) -> None:
    """Raise `ValidationError` if an evaluation of this name is another one: its answers belong to its questions."""
    questions = [
        QuestionPart(question=case.question, expected_tool=case.expected_tool, expected_text=case.expected_text)
        for case in row.cases.all()
    ]
    if (row.tools, row.judge_model, questions) != (part.tools, part.judge_model, part.questions):
        raise ValidationError(_("There is another evaluation of this name. Delete or rename it first."))


def _make(target: Target, assistant: Assistant, part: EvaluationPart) -> None:
    actor_id = None if target.actor is None else target.actor.pk
    row = Evaluation(
        tenant=target.tenant, assistant=assistant, name=part.name, tools=part.tools, judge_model=part.judge_model,
        created_by_id=actor_id,
    )  # fmt: skip
    row.full_clean()
    row.save()
    EvaluationCase.objects.bulk_create(
        EvaluationCase(
            tenant=target.tenant,
            evaluation=row,
            position=position,
            question=clean_text(question.question),
            expected_tool=question.expected_tool,
            expected_text=clean_text(question.expected_text),
        )
        for position, question in enumerate(part.questions, 1)
    )


def _assistants(tenant: Tenant) -> dict[str, Assistant]:
    return {row.slug: row for row in Assistant.objects.filter(tenant=tenant)}


def _named(assistants: dict[str, Assistant], slug: str) -> Assistant:
    """Return the assistant of a short name. Raises `LookupError` if there is none here."""
    if slug not in assistants:
        raise LookupError(_("There is no assistant “%(name)s” here.") % {"name": slug})
    return assistants[slug]
