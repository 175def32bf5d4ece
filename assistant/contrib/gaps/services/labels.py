"""Labels of questions: which document or passage answers one, or that none does."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from assistant.contrib.gaps.models import MAX_PASSAGE, QuestionLabel
from assistant.contrib.gaps.services.labelled_passages import in_one_line, passages_of, positions_of
from assistant.contrib.gaps.services.question_keys import key_of, shown_question
from assistant.models import Document, Tenant
from assistant.services.knowledge.labels import Labelled
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor

# Labels of a tenant; and the newest, half of each kind, that sharpen its lines.
MAX_LABELS = 1_000
MAX_USED = 100
MAX_READ = 200
MAX_WORDINGS = 5
MAX_WORDING = 500


class LabelRefused(ValueError):
    """A label cannot be stored; the message can be shown to people."""


class LabelConflict(LabelRefused):
    """What the tenant has stored does not allow a label."""


@transaction.atomic
def label_question(
    *,
    tenant: Tenant,
    question: str,
    document_id: int | None,
    actor: Actor,
    wordings: Sequence[str] = (),
    passage: str = "",
) -> QuestionLabel:
    """Say that a document answers a question, or with None that none does; an earlier label of it is replaced.

    Args:
        wordings: what is searched for it; none: the question.
        passage: words of the document's passage that answers it; "": any of its passages.

    Raises:
        LabelRefused: there is no question or no such document or passage of the tenant, or there are too many labels
            or wordings.
    """
    shown = shown_question(question)
    if not shown:
        raise LabelRefused("A label needs a question.")
    if len(wordings) > MAX_WORDINGS or any(not one.strip() or len(one) > MAX_WORDING for one in wordings):
        raise LabelRefused(
            f"At most {MAX_WORDINGS} wordings of {MAX_WORDING} characters can be searched for a question."
        )
    if document_id is not None and not Document.objects.filter(tenant=tenant, pk=document_id).exists():
        raise LabelConflict("There is no such document.")
    words = in_one_line(passage)
    places = _places(tenant, document_id, words)
    rows = QuestionLabel.objects.filter(tenant=tenant)
    key = key_of(shown)
    if rows.count() >= MAX_LABELS and not rows.filter(key=key).exists():
        raise LabelConflict(f"A tenant has at most {MAX_LABELS:,} labels. Delete some first.")
    label, is_new = QuestionLabel.objects.update_or_create(
        tenant=tenant,
        key=key,
        defaults={
            "question": shown,
            "wordings": list(wordings),
            "document_id": document_id,
            "passage": words,
            "is_lost": False,
            "created_by_id": actor.pk if actor is not None else None,
        },
    )
    audit_trail.record(
        actor=actor,
        action="questionlabel.add" if is_new else "questionlabel.change",
        target=shown,
        tenant=tenant,
        details={"document": document_id, "passages": places},
    )
    return label


def _places(tenant: Tenant, document_id: int | None, words: str) -> list[int]:
    """Return the positions of the passages with some words. Raises `LabelRefused` if there are words, and no such."""
    if not words:
        return []
    if len(words) > MAX_PASSAGE:
        raise LabelRefused(f"At most {MAX_PASSAGE} characters of a passage can be named.")
    if document_id is None:
        raise LabelRefused("A passage needs the document that it is in.")
    places = sorted(positions_of(words, passages_of(tenant_id=tenant.pk, document_id=document_id)))
    if not places:
        raise LabelConflict("No passage of the document has these words.")
    return places


def delete_label(*, tenant: Tenant, label_id: int, actor: Actor) -> bool:
    """Delete a label of a tenant; return whether there was one."""
    label = QuestionLabel.objects.filter(tenant=tenant, pk=label_id).first()
    if label is None:
        return False
    label.delete()
    audit_trail.record(actor=actor, action="questionlabel.delete", target=label.question, tenant=tenant)
    return True


def labels_of(tenant_id: int) -> list[Labelled]:
    """Return the newest labels of a tenant, of either kind `MAX_USED` / 2 at most, for its lines; one query."""
    rows = QuestionLabel.objects.filter(tenant_id=tenant_id).order_by("-changed_at", "-pk")
    newest = rows.values_list("question", "wordings", "document_id")[:MAX_READ]
    labels = [Labelled(tuple(wordings) or (question,), document_id) for question, wordings, document_id in newest]
    answered = [one for one in labels if one.document_id is not None]
    unanswered = [one for one in labels if one.document_id is None]
    return [*answered[: MAX_USED // 2], *unanswered[: MAX_USED // 2]]
