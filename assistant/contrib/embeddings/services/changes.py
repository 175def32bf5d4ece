"""What orders the embedding of a tenant's passages: changes of its documents, and of what embeds them."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.signals import post_delete, post_save
from django.utils import timezone

from assistant.contrib.embeddings.models import EmbeddingChoice, EmbeddingIndex
from assistant.models import AuditEntry, Document, Tenant
from assistant.services.jobs import jobs
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor

FILL_JOB = "embeddings.fill"
# What the audit trail has of a tenant that was embedded anew, and how often that may be: a provider is paid for it.
ANEW_ACTION = "embeddingindex.delete"
ANEW_EVERY = timedelta(hours=1)


def connect() -> None:
    """Order embedding with each change of a document or of a choice, once it is committed."""
    post_save.connect(_document_saved, sender=Document, dispatch_uid="embeddings")
    post_save.connect(_choice_changed, sender=EmbeddingChoice, dispatch_uid="embeddings")
    post_delete.connect(_choice_changed, sender=EmbeddingChoice, dispatch_uid="embeddings")


def order_fill(tenant_id: int) -> None:
    """Have a tenant's passages that have no vector embedded in the background, unless that is being done."""
    if jobs.waiting_jobs(tenant_id=tenant_id, name=FILL_JOB).exists():
        return
    jobs.schedule(tenant_id=tenant_id, name=FILL_JOB, key="", due_at=timezone.now())


def embed_anew(*, tenant: Tenant, actor: Actor) -> datetime | None:
    """Delete a tenant's vectors and have its passages embedded from the beginning; until then words alone decide.

    Returns:
        None; if that was done within the last hour, when it may be done again, and nothing is done.
    """
    with transaction.atomic():
        # Two that come at once take turns.
        Tenant.objects.select_for_update().get(pk=tenant.pk)
        done = AuditEntry.objects.filter(tenant=tenant, action=ANEW_ACTION, created_at__gt=timezone.now() - ANEW_EVERY)
        last = done.order_by("-created_at").first()
        if last is not None:
            return last.created_at + ANEW_EVERY
        EmbeddingIndex.objects.filter(tenant=tenant).delete()
        order_fill(tenant.pk)
        audit_trail.record(actor=actor, action=ANEW_ACTION, target=f"tenant {tenant.pk}", tenant=tenant)
    return None


def _document_saved(*, instance: Document, raw: bool, **_: Any) -> None:
    if settings.ASSISTANT_EMBEDDINGS and not raw:
        _order_after_commit(instance.tenant_id)


def _choice_changed(*, instance: EmbeddingChoice, raw: bool = False, **_: Any) -> None:
    if not settings.ASSISTANT_EMBEDDINGS or raw:
        return
    if instance.tenant_id is not None:
        _order_after_commit(instance.tenant_id)
        return
    own = EmbeddingChoice.objects.filter(tenant=OuterRef("pk"))
    with_documents = Tenant.objects.filter(Exists(Document.objects.filter(tenant=OuterRef("pk"))))
    for tenant_id in with_documents.exclude(Exists(own)).values_list("pk", flat=True):
        _order_after_commit(tenant_id)


def _order_after_commit(tenant_id: int) -> None:
    # A job that runs before would not see the change, and a second one is not ordered beside it.
    transaction.on_commit(partial(_order_if_there, tenant_id))


def _order_if_there(tenant_id: int) -> None:
    """Order embedding, unless the tenant was deleted with its choice."""
    if Tenant.objects.filter(pk=tenant_id).exists():
        order_fill(tenant_id)
