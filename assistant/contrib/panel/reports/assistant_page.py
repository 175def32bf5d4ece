"""What the tabs of an assistant's page list: conversations with their ratings, documents, changes."""

from __future__ import annotations

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from assistant.contrib.panel.reports.days import FAILED
from assistant.models import Assistant, AuditEntry, Conversation, Document, Feedback, Run

# Rows of one list on a tab; a link leads to the whole list.
LISTED = 50


def conversations_of(*, assistant: Assistant) -> QuerySet[Conversation]:
    """Return the conversations that were used last, each with whether it is `disliked` or has `failed` runs."""
    of_tenant = {"tenant_id": assistant.tenant_id}
    disliked = Feedback.objects.filter(**of_tenant, message__conversation=OuterRef("pk"), rating=Feedback.Rating.DOWN)
    failed = Run.objects.filter(**of_tenant, conversation=OuterRef("pk"), status__in=FAILED)
    return (
        Conversation.objects.filter(**of_tenant, assistant=assistant, is_stateless=False)
        .listed()
        .select_related("user", "assistant", "tenant")
        .annotate(disliked=Exists(disliked), failed=Exists(failed))
        .order_by("-updated_at")[:LISTED]
    )


def documents_of(*, assistant: Assistant) -> QuerySet[Document]:
    """Return the documents that the assistant can search: those of its tenant, the newest first."""
    return Document.objects.filter(tenant_id=assistant.tenant_id).defer("text").order_by("-pk")[:LISTED]


def count_documents(*, assistant: Assistant) -> dict[str, int]:
    """Return how many documents there are, and how many of them are trusted."""
    rows = Document.objects.filter(tenant_id=assistant.tenant_id)
    return rows.aggregate(all=Count("pk"), trusted=Count("pk", filter=Q(is_trusted=True)))


def changes_of(*, assistant: Assistant) -> QuerySet[AuditEntry]:
    """Return the newest changes of the assistant, its prompts and its switches, and those of its tenant's switches."""
    slug = assistant.slug
    of_assistant = (
        Q(action__startswith="prompt.", target__startswith=f"{slug} v")
        | Q(action__startswith="tool.", target__startswith=f"{slug}: ")
        | (Q(action__startswith="tool.") & ~Q(target__contains=": "))
        | Q(action__startswith="assistant.", target=str(assistant))
    )
    rows = AuditEntry.objects.filter(of_assistant, tenant_id=assistant.tenant_id)
    return rows.select_related("actor").order_by("-created_at", "-pk")[:LISTED]
