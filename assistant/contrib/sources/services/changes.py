"""Orders readings of sources, says which documents are older than theirs, and removes those whose pages are gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from assistant.contrib.sources.models import Source, SourcePage
from assistant.contrib.sources.services.storing import remove
from assistant.services.jobs import jobs
from assistant.services.knowledge.source_changes import Outdated
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor

REFRESH_JOB = "sources.refresh"
# How soon people can have a source read again.
SOONEST = timedelta(minutes=5)
# Documents that are told of.
MAX_TOLD = 10_000


def order_refresh(*, source: Source, actor: Actor) -> datetime | None:
    """Have a source read now. Return None; if it was read just now, when it may be read again, and nothing is done."""
    now = timezone.now()
    last = max(filter(None, (source.began_at, source.ended_at)), default=None)
    if last is not None and now < last + SOONEST:
        return last + SOONEST
    schedule(tenant_id=source.tenant_id, source_id=source.pk)
    audit_trail.record(actor=actor, action="source.order", target=source.place, tenant=source.tenant)
    return None


def schedule(*, tenant_id: int, source_id: int) -> None:
    """Have a source read in the background, unless that is ordered already."""
    waiting = jobs.waiting_jobs(tenant_id=tenant_id, name=REFRESH_JOB).filter(key=str(source_id))
    if not waiting.exists():
        jobs.schedule(tenant_id=tenant_id, name=REFRESH_JOB, key=str(source_id), due_at=timezone.now())


@transaction.atomic
def remove_missing(*, source: Source, actor: Actor) -> int:
    """Remove the documents of a source's pages that are marked as missing; return how many."""
    pages = SourcePage.objects.filter(tenant_id=source.tenant_id, source=source, missing_since__isnull=False)
    rows = list(pages.select_related("document"))
    for row in rows:
        remove(row, actor=actor)
    return len(rows)


def changed_later(tenant_id: int) -> Iterator[Outdated]:
    """Yield the documents of pages that are missing, or that have changed and could not be read."""
    rows = SourcePage.objects.filter(tenant_id=tenant_id).exclude(document=None)
    rows = rows.filter(Q(is_outdated=True) | Q(missing_since__isnull=False)).order_by("pk")
    for document_id, address in rows.values_list("document_id", "address")[:MAX_TOLD]:
        if document_id is not None:
            yield Outdated(document_id, address)
