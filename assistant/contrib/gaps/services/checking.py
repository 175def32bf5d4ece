"""Checks a tenant's documents after they have changed: a job of the tenant. Servers import this module."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone

from assistant.contrib.gaps.models import DocumentDoubt
from assistant.contrib.gaps.services.changes import CHECK_JOB, order_check
from assistant.contrib.gaps.services.labelled_passages import check_labels
from assistant.contrib.gaps.services.likeness import (
    MAX_PASSAGES,
    Statement,
    contradicts,
    differing,
    floods,
    like_pairs,
    statement_of,
)
from assistant.contrib.gaps.services.suspicious_text import MAX_FINDINGS, is_mixed, skeleton, suspicions
from assistant.models import Document, Job
from assistant.models.knowledge import Passage
from assistant.services.db.threads import in_database
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.knowledge.source_changes import older_than_source
from assistant.services.knowledge.stems import stem, stop_words
from assistant.services.tenancy.row_scope import set_tenants

# How long a check may take before another process does it.
LEASE = timedelta(minutes=10)
# Documents that are looked at, doubts of a kind that are kept of a tenant, and of a document.
MAX_DOCUMENTS = 20_000
MAX_OF_A_KIND = 200
# Rows that are read at once.
CHUNK = 200
Kind = DocumentDoubt.Kind


@jobs.handles(CHECK_JOB, is_long=True)
def _begin(job: Job) -> LongWork:
    return partial(check, job.tenant_id, jobs.again(job, LEASE).pk)


async def check(tenant_id: int, job: int) -> None:
    """Check all documents and labels of a tenant in a database thread; order another check if one came meanwhile."""
    set_tenants(tenant_id)
    began = timezone.now()
    await in_database(check_documents, tenant_id=tenant_id)
    await in_database(check_labels, tenant_id=tenant_id)
    await asyncio.sleep(0)
    await in_database(_finish, tenant_id=tenant_id, job=job, began=began)


def _finish(*, tenant_id: int, job: int, began: object) -> None:
    jobs.drop(tenant_id=tenant_id, pk=job)
    if Document.objects.filter(tenant_id=tenant_id, updated_at__gt=began).exists():
        order_check(tenant_id)


def check_documents(*, tenant_id: int) -> int:
    """Find what is doubtful in a tenant's documents, and keep it; return how much. What was settled stays so."""
    found: dict[str, DocumentDoubt] = {}
    for doubts in (_of_texts(tenant_id), _of_titles(tenant_id), _of_pairs(tenant_id), _of_sources(tenant_id)):
        for doubt in doubts:
            found.setdefault(doubt.key, doubt)
    kept = _bounded(found.values())
    with transaction.atomic():
        rows = DocumentDoubt.objects.filter(tenant_id=tenant_id)
        known = dict(rows.values_list("key", "pk"))
        gone = [pk for key, pk in known.items() if key not in kept]
        rows.filter(pk__in=gone).delete()
        # One may have been deleted meanwhile.
        there = set(Document.objects.filter(tenant_id=tenant_id).values_list("pk", flat=True))
        DocumentDoubt.objects.bulk_create(
            [
                doubt
                for key, doubt in kept.items()
                if key not in known
                and doubt.document_id in there
                and (doubt.other_id is None or doubt.other_id in there)
            ],
            batch_size=200,
            ignore_conflicts=True,
        )
    return len(kept)


def _bounded(doubts: Iterable[DocumentDoubt]) -> dict[str, DocumentDoubt]:
    """Return the first doubts of each kind."""
    counts: dict[str, int] = {}
    kept: dict[str, DocumentDoubt] = {}
    for doubt in doubts:
        counts[doubt.kind] = counts.get(doubt.kind, 0) + 1
        if counts[doubt.kind] <= MAX_OF_A_KIND:
            kept[doubt.key] = doubt
    return kept


def _of_texts(tenant_id: int) -> Iterator[DocumentDoubt]:
    """Yield what is suspicious in the texts and titles themselves."""
    rows = Document.objects.filter(tenant_id=tenant_id).order_by("pk").values_list("pk", "title", "text", "hidden")
    for pk, title, text, hidden in rows[:MAX_DOCUMENTS].iterator(chunk_size=CHUNK):
        for kind, excerpt in hidden[:MAX_FINDINGS]:
            yield _doubt(tenant_id, Kind.HIDDEN, pk, detail=f"{kind}: {excerpt}")
        for one in suspicions(f"{title}\n\n{text}"):
            yield _doubt(tenant_id, one.kind, pk, detail=one.detail)


def _of_titles(tenant_id: int) -> Iterator[DocumentDoubt]:
    """Yield the documents whose titles look like that of an earlier one without being it."""
    first: dict[str, tuple[int, str]] = {}
    rows = Document.objects.filter(tenant_id=tenant_id).order_by("created_at", "pk").values_list("pk", "title")
    for pk, title in rows[:MAX_DOCUMENTS].iterator(chunk_size=CHUNK):
        seen = first.setdefault(skeleton(title), (pk, title))
        if seen[0] != pk and not any(is_mixed(word) for word in seen[1].split()):
            yield _doubt(tenant_id, Kind.LOOKALIKE, pk, other=seen[0], detail=f"{title} · {seen[1]}")


def _of_pairs(tenant_id: int) -> Iterator[DocumentDoubt]:
    """Yield floods of nearly equal passages, and passages that contradict each other."""
    statements = list(_statements(tenant_id))
    for group in floods(statements):
        first = group[0]
        yield _doubt(
            tenant_id,
            Kind.FLOOD,
            group[-1].document_id,
            position=group[-1].position,
            other=first.document_id,
            other_position=first.position,
            detail=str(len(group)),
        )
    ignored = frozenset(stem(word, "en") for word in stop_words("en"))
    for first, second in like_pairs(statements, ignored=ignored):
        if contradicts(first, second):
            ours, theirs = differing(first, second)
            yield _doubt(
                tenant_id,
                Kind.CONTRADICTION,
                first.document_id,
                position=first.position,
                other=second.document_id,
                other_position=second.position,
                detail=f"{', '.join(ours) or '—'} · {', '.join(theirs) or '—'}",
            )


def _statements(tenant_id: int) -> Iterator[Statement]:
    rows = Passage.objects.filter(tenant_id=tenant_id).order_by("pk").values_list("document_id", "position", "stems")
    for document_id, position, stems in rows[:MAX_PASSAGES].iterator(chunk_size=2_000):
        _title, _, said = stems.partition("\n")
        yield statement_of(document_id, position, said.split())


def _of_sources(tenant_id: int) -> Iterator[DocumentDoubt]:
    """Yield the documents whose source was changed after they were read from it."""
    for one in older_than_source(tenant_id):
        yield _doubt(tenant_id, Kind.OLDER, one.document_id, detail=one.source)


def _doubt(
    tenant_id: int,
    kind: str,
    document_id: int,
    *,
    position: int = 0,
    other: int | None = None,
    other_position: int = 0,
    detail: str = "",
) -> DocumentDoubt:
    parts = (kind, document_id, position, other, other_position, detail)
    return DocumentDoubt(
        tenant_id=tenant_id,
        kind=kind,
        document_id=document_id,
        position=position,
        other_id=other,
        other_position=other_position,
        detail=detail[:300],
        key=hashlib.sha256(repr(parts).encode()).hexdigest(),
    )
