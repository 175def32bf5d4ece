"""Stores what people say of a run's answer. Each change is audited, without the texts."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from assistant.contrib.improvements.models import Annotation
from assistant.models import Run, Tenant
from assistant.services.tenancy import audit_trail

# Of a tenant.
MAX_ANNOTATIONS = 5_000


class AnnotationRefused(ValueError):
    """An annotation cannot be stored; the message can be shown to people."""


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody says of an answer; texts are cut by whoever takes them in."""

    label: str = ""
    note: str = ""
    corrected_answer: str = ""
    expected_text: str = ""
    is_looked_at: bool = True


@transaction.atomic
def annotate(*, run: Run, said: Said, actor: audit_trail.Actor) -> Annotation:
    """Store what somebody says of a run, in place of what was said of it before.

    Raises:
        AnnotationRefused: the tenant has too many annotations.
    """
    # Locked, so that two at once do not pass the limit.
    Tenant.objects.select_for_update().only("pk").get(pk=run.tenant_id)
    before = Annotation.objects.filter(tenant=run.tenant_id, run=run).first()
    if before is None and Annotation.objects.filter(tenant=run.tenant_id).count() >= MAX_ANNOTATIONS:
        raise AnnotationRefused(_("There are too many annotations. Delete some first."))
    row = before or Annotation(tenant_id=run.tenant_id, conversation_id=run.conversation_id, run=run)
    values = [before.label if before is not None else None, said.label or None]
    row.label = said.label
    row.note = said.note
    row.corrected_answer = said.corrected_answer
    row.expected_text = said.expected_text
    row.is_looked_at = said.is_looked_at
    row.author_id = actor.pk if actor is not None else None
    row.save()
    _record(run, "annotation.add" if before is None else "annotation.change", actor, {"values": {"label": values}})
    return row


def _record(run: Run, action: str, actor: audit_trail.Actor, details: dict[str, object]) -> None:
    audit_trail.record(
        actor=actor, action=action, target=f"{run.conversation_id} {run.number}", tenant=run.tenant, details=details
    )
