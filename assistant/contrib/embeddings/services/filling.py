"""Embeds the passages of tenants in the background: a job of each tenant, batch by batch. Servers import this module.

A change of the encoder makes a new index, beside which the old one serves until all passages are in the new one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from assistant.contrib.embeddings.models import EmbeddingChoice, EmbeddingIndex, PassageVector
from assistant.contrib.embeddings.services.changes import FILL_JOB, order_fill
from assistant.contrib.embeddings.services.choice import is_on_for_all, wanted_encoder
from assistant.contrib.embeddings.services.encoder import MAX_TEXTS, Encoded, Encoder, EncoderFailed
from assistant.contrib.embeddings.services.spending import count_tokens
from assistant.models import Document, Job, Tenant
from assistant.models.knowledge import Passage
from assistant.services.db.threads import in_database
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.jobs.recurring import recurs
from assistant.services.tenancy.row_scope import set_tenants

logger = logging.getLogger(__name__)

# How long a batch may take before another process does the job.
LEASE = timedelta(minutes=3)
# How often tenants with documents and without a complete index get a job, and how many at once.
PLAN_SECONDS = 60.0
MAX_PLANNED = 50
# When a tenant whose job was given up gets another.
AFTER_GIVING_UP = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Batch:
    """Passages to embed: the index, its encoder, and each passage's key with the text that is embedded."""

    index: EmbeddingIndex
    encoder: Encoder
    passages: Sequence[tuple[int, str]]


@recurs("embeddings.plan", seconds=PLAN_SECONDS, is_first_later=True)
def plan_fills() -> int:
    """Order the embedding of tenants that have documents and no complete index; return how many there were.

    One whose job was given up gets another after an hour.
    """
    if not settings.ASSISTANT_EMBEDDINGS:
        return 0
    own = OuterRef("pk")
    tenants = Tenant.objects.filter(Exists(Document.objects.filter(tenant=own)), is_active=True)
    indexes = EmbeddingIndex.objects.filter(tenant=own)
    tenants = tenants.filter(~Exists(indexes.filter(built_at__isnull=False)) | Exists(indexes.filter(built_at=None)))
    choices = EmbeddingChoice.objects.filter(tenant=own)
    if is_on_for_all():
        tenants = tenants.exclude(Exists(choices.filter(is_on=False)))
    else:
        tenants = tenants.filter(Exists(choices.filter(is_on=True)))
    given_up = Q(state=Job.State.FAILED, ended_at__gte=timezone.now() - AFTER_GIVING_UP)
    tenants = tenants.exclude(
        Exists(Job.objects.filter(Q(state=Job.State.WAITING) | given_up, tenant=own, name=FILL_JOB))
    )
    found = tenants.order_by("pk").values_list("pk", flat=True)
    ordered = list(islice((pk for pk in list(found) if wanted_encoder(pk) is not None), MAX_PLANNED))
    for pk in ordered:
        order_fill(pk)
    return len(ordered)


@jobs.handles(FILL_JOB, is_long=True)
def _begin(job: Job) -> LongWork | None:
    """Return the work of embedding what a tenant's index lacks; without an encoder the tenant's vectors go."""
    if wanted_encoder(job.tenant_id) is None:
        EmbeddingIndex.objects.filter(tenant_id=job.tenant_id).delete()
        return None
    return partial(fill, job.tenant_id, jobs.again(job, LEASE).pk)


async def fill(tenant_id: int, job: int) -> None:
    """Embed a tenant's passages batch by batch, so that other work gets its turn in between.

    Raises:
        EncoderFailed: it cannot be asked, or makes vectors of another length than before; the job is tried again later.
    """
    set_tenants(tenant_id)
    while (batch := await in_database(next_batch, tenant_id=tenant_id)) is not None:
        try:
            encoded = await batch.encoder.encode([text for _, text in batch.passages])
            await in_database(store, tenant_id=tenant_id, batch=batch, encoded=encoded)
        except EncoderFailed as exc:
            await in_database(_tell, tenant_id=tenant_id, index_id=batch.index.pk, problem=str(exc))
            raise
        if not await in_database(jobs.renew, tenant_id=tenant_id, pk=job, due_at=timezone.now() + LEASE):
            return  # another process does the job
    await in_database(_finish, tenant_id=tenant_id, job=job)


def next_batch(*, tenant_id: int) -> Batch | None:
    """Return passages that have no vector by the tenant's encoder; None if all have one, and then the index serves."""
    wanted = wanted_encoder(tenant_id)
    if wanted is None:
        return None
    choice, encoder = wanted
    index, _ = EmbeddingIndex.objects.get_or_create(
        tenant_id=tenant_id,
        encoder=encoder.name,
        defaults={"provider": choice.provider, "model": choice.model},
    )
    rows = lacking(index=index, languages=encoder.languages)
    found = list(rows.order_by("pk").values_list("pk", "title", "heading", "text")[:MAX_TEXTS])
    if found:
        passages = [(pk, ". ".join(part for part in parts if part)) for pk, *parts in found]
        return Batch(index, encoder, passages)
    _complete(index)
    return None


def lacking(*, index: EmbeddingIndex, languages: frozenset[str]) -> QuerySet[Passage]:
    """Return the passages of an index's tenant without a vector in it, of documents in these languages (none: all)."""
    rows = Passage.objects.filter(tenant_id=index.tenant_id)
    if languages:
        # Of a document without a language nothing is known; it may be a table.
        rows = rows.filter(document__language__in=[*languages, ""])
    own = PassageVector.objects.filter(tenant_id=index.tenant_id, index=index, passage=OuterRef("pk"))
    return rows.exclude(Exists(own))


def store(*, tenant_id: int, batch: Batch, encoded: Encoded) -> None:
    """Store the vectors of a batch, without those of passages that were deleted meanwhile, and what they have cost.

    Raises:
        EncoderFailed: they are of another length than those of the index: another model has the name of its encoder.
    """
    vectors = {pk: vector for (pk, _), vector in zip(batch.passages, encoded.vectors, strict=True)}
    count_tokens(tenant_id=tenant_id, provider=batch.index.provider, model=batch.index.model, tokens=encoded.tokens)
    rows = PassageVector.objects.filter(tenant_id=tenant_id, index=batch.index).order_by("pk")
    first = rows.values_list("vector", flat=True).first()
    if first is not None and any(len(vector) != len(first) for vector in vectors.values()):
        raise EncoderFailed("The encoder's vectors have another length now. Embed anew, if its model was replaced.")
    try:
        with transaction.atomic():
            kept = Passage.objects.filter(tenant_id=tenant_id, pk__in=vectors).values_list("pk", flat=True)
            PassageVector.objects.bulk_create(
                [
                    PassageVector(tenant_id=tenant_id, index=batch.index, passage_id=pk, vector=vectors[pk])
                    for pk in kept
                ],
                ignore_conflicts=True,
            )
    except IntegrityError:
        # A passage was deleted in between: the next batch has the others.
        logger.info("Passages of tenant %s were replaced while they were embedded", tenant_id)


def _complete(index: EmbeddingIndex) -> None:
    """Have searches use an index, and delete the tenant's others."""
    with transaction.atomic():
        EmbeddingIndex.objects.filter(tenant_id=index.tenant_id).exclude(pk=index.pk).delete()
        first = EmbeddingIndex.objects.filter(tenant_id=index.tenant_id, pk=index.pk, built_at=None)
        first.update(built_at=timezone.now())
        EmbeddingIndex.objects.filter(tenant_id=index.tenant_id, pk=index.pk).exclude(problem="").update(problem="")


def _finish(*, tenant_id: int, job: int) -> None:
    """Drop the job, and order another if a document came while it ended."""
    jobs.drop(tenant_id=tenant_id, pk=job)
    if next_batch(tenant_id=tenant_id) is not None:
        order_fill(tenant_id)


def _tell(*, tenant_id: int, index_id: int, problem: str) -> None:
    EmbeddingIndex.objects.filter(tenant_id=tenant_id, pk=index_id).update(problem=problem[:200])
