"""What the page of gaps and the REST API show: each a bounded number of rows, counted by the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet

from assistant.contrib.gaps.models import DocumentDoubt, OpenQuestion, QuestionLabel, ReachedDocument
from assistant.models import Document, Feedback
from assistant.models.tenants import ChatReading
from assistant.services.conversations.chat_reading import readable
from assistant.toolkit.context import UserId

# Lines of each list.
MAX_LINES = 50


@dataclass(frozen=True, slots=True)
class QuestionLine:
    """Questions of the same words: the newest one, how often they were asked, and when last."""

    id: int
    kind: str
    question: str
    wordings: Sequence[str]
    times: int
    last_at: datetime


def open_questions(*, tenant_id: int, reader_id: UserId, limit: int = MAX_LINES) -> list[QuestionLine]:
    """Return the questions without a label that a reader may see, by how often they were asked; two queries."""
    rows = _visible(tenant_id, reader_id)
    groups = rows.order_by().values("kind", "key").annotate(times=Count("pk"), last=Max("asked_at"), newest=Max("pk"))
    lines = list(groups.order_by("-times", "-last", "-newest")[:limit])
    newest = OpenQuestion.objects.filter(tenant_id=tenant_id).in_bulk([line["newest"] for line in lines])
    return [
        QuestionLine(
            id=line["newest"],
            kind=line["kind"],
            question=newest[line["newest"]].question,
            wordings=newest[line["newest"]].wordings,
            times=line["times"],
            last_at=line["last"],
        )
        for line in lines
        if line["newest"] in newest
    ]


def question_of(*, tenant_id: int, reader_id: UserId, question_id: int) -> OpenQuestion | None:
    """Return an open question that a reader may see."""
    return _visible(tenant_id, reader_id).filter(pk=question_id).first()


def hidden_questions(*, tenant_id: int, reader_id: UserId) -> int:
    """Return how many open questions are in conversations that the reader may not read without a reason."""
    return _open(tenant_id).count() - _visible(tenant_id, reader_id).count()


def _open(tenant_id: int) -> QuerySet[OpenQuestion]:
    labelled = QuestionLabel.objects.filter(tenant_id=tenant_id, key=OuterRef("key"))
    rows = OpenQuestion.objects.filter(tenant_id=tenant_id).exclude(Exists(labelled))
    # A rating that was changed is none any more.
    return rows.filter(Q(feedback=None) | Q(feedback__rating=Feedback.Rating.DOWN))


def _visible(tenant_id: int, reader_id: UserId) -> QuerySet[OpenQuestion]:
    of_run = Q(run__isnull=False) & readable(reader_id=reader_id, path="run__conversation")
    over_mcp = Q(run=None) & (Q(tenant__chat_reading=ChatReading.OPEN) | Q(call__user=reader_id))
    return _open(tenant_id).filter(of_run | over_mcp)


def unreached_documents(*, tenant_id: int) -> QuerySet[Document]:
    """Return the documents that no search has found, the oldest first."""
    reached = ReachedDocument.objects.filter(tenant_id=tenant_id, document=OuterRef("pk"))
    rows = Document.objects.filter(tenant_id=tenant_id).exclude(Exists(reached))
    return rows.order_by("updated_at", "pk").defer("text")


def open_doubts(*, tenant_id: int) -> QuerySet[DocumentDoubt]:
    """Return the doubts about documents that nobody has settled."""
    rows = DocumentDoubt.objects.filter(tenant_id=tenant_id, is_settled=False).select_related("document", "other")
    return rows.defer("document__text", "other__text")


def counts_of(*, tenant_id: int) -> dict[str, Any]:
    """Return how many labels of either kind, documents without a search that found them, and doubts there are."""
    labels = QuestionLabel.objects.filter(tenant_id=tenant_id)
    of_labels = labels.aggregate(
        answered=Count("pk", filter=Q(document__isnull=False)), unanswered=Count("pk", filter=Q(document=None))
    )
    return {
        "answered_labels": of_labels["answered"],
        "unanswered_labels": of_labels["unanswered"],
        "unreached": unreached_documents(tenant_id=tenant_id).order_by().count(),
        "doubts": open_doubts(tenant_id=tenant_id).order_by().count(),
    }
