"""How passages get their vectors: in the background, with what embeds them changed, broken or switched off."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from assistant.contrib.data_exports.exports import export_tenant
from assistant.contrib.embeddings.models import EmbeddingChoice, EmbeddingIndex, PassageVector
from assistant.contrib.embeddings.services import choice, filling
from assistant.contrib.embeddings.services.changes import FILL_JOB, embed_anew
from assistant.contrib.embeddings.services.encoder import EncoderFailed
from assistant.contrib.embeddings.services.filling import fill, plan_fills
from assistant.contrib.row_level_security.protected_tables import protected_tables
from assistant.core.values.quota_kinds import WINDOWS, Windows
from assistant.models import Document, Job, QuotaUse, Tenant, UsageEntry
from assistant.models.knowledge import Passage
from assistant.services.jobs import jobs
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.fusion import search_fused
from assistant.services.knowledge.reach import whole_reach
from assistant.services.privacy.ownership import deletable_models
from tests.base import Cast
from tests.contrib.embeddings import encoding
from tests.contrib.embeddings.conftest import embed, rank
from tests.contrib.embeddings.encoding import LettersEncoder
from tests.factories import make_provider


def waiting(cast: Cast) -> list[int]:
    return list(Job.objects.filter(name=FILL_JOB, state=Job.State.WAITING).values_list("tenant_id", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_document_orders_its_embedding_once(cast: Cast, letters: LettersEncoder, settings: Any) -> None:
    add_document(tenant=cast.acme, title="One", text="A vehicle.")
    add_document(tenant=cast.acme, title="Two", text="A gate.")
    assert waiting(cast) == [cast.acme.pk]
    settings.ASSISTANT_EMBEDDINGS = False
    add_document(tenant=cast.globex, title="One", text="A vehicle.")
    assert waiting(cast) == [cast.acme.pk]


def test_documents_from_before_are_planned(cast: Cast, letters: LettersEncoder, settings: Any) -> None:
    settings.ASSISTANT_EMBEDDINGS = False
    add_document(tenant=cast.acme, title="One", text="A vehicle.")
    add_document(tenant=cast.globex, title="One", text="A vehicle.")
    assert plan_fills() == 0
    settings.ASSISTANT_EMBEDDINGS = True
    EmbeddingChoice(tenant=cast.globex, is_on=False).save_base(raw=True)
    assert plan_fills() == 1
    assert waiting(cast) == [cast.acme.pk]
    assert plan_fills() == 0


def test_a_job_that_was_given_up_is_planned_again_an_hour_later(cast: Cast, letters: LettersEncoder) -> None:
    add_document(tenant=cast.acme, title="One", text="A vehicle.")
    EmbeddingIndex.objects.create(tenant=cast.acme, encoder=letters.name, problem="It is out of order.")
    job = Job.objects.create(
        tenant=cast.acme, name=FILL_JOB, due_at=timezone.now(), state=Job.State.FAILED, ended_at=timezone.now()
    )
    assert plan_fills() == 0
    Job.objects.filter(pk=job.pk).update(ended_at=timezone.now() - timedelta(minutes=61))
    assert plan_fills() == 1
    assert waiting(cast) == [cast.acme.pk]
    embed(cast.acme)
    assert plan_fills() == 0


def test_tenants_without_an_encoder_keep_no_other_from_its_turn(
    cast: Cast, letters: LettersEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "MAX_PLANNED", 1)
    for tenant in (cast.acme, cast.globex):
        add_document(tenant=tenant, title="One", text="A vehicle.")
    EmbeddingChoice.objects.create(is_on=False)
    EmbeddingChoice.objects.create(tenant=cast.globex)
    assert plan_fills() == 1
    assert waiting(cast) == [cast.globex.pk]
    Job.objects.filter(name=FILL_JOB).delete()
    EmbeddingChoice.objects.filter(tenant=None).delete()
    theirs = make_provider(cast.globex, base_url="http://127.0.0.1:9/v1")
    EmbeddingChoice.objects.create(tenant=cast.acme, provider=theirs, model="m")
    assert plan_fills() == 1
    assert waiting(cast) == [cast.globex.pk]


@pytest.mark.django_db(transaction=True)
def test_embedding_is_ordered_once_a_document_is_committed(cast: Cast, letters: LettersEncoder) -> None:
    """Before, a job that runs meanwhile would not see the document, and end as if nothing were left to do."""
    with transaction.atomic():
        add_document(tenant=cast.acme, title="One", text="A vehicle.")
        assert waiting(cast) == []
    assert waiting(cast) == [cast.acme.pk]
    Job.objects.filter(name=FILL_JOB).delete()
    with transaction.atomic():
        EmbeddingChoice.objects.create(tenant=cast.acme)
        assert waiting(cast) == []
    assert waiting(cast) == [cast.acme.pk]


@pytest.mark.django_db(transaction=True)
def test_the_job_embeds_all_and_is_gone(cast: Cast, letters: LettersEncoder) -> None:
    add_document(tenant=cast.acme, title="One", text="\n\n".join(f"Vehicle {n}. " + "word " * 90 for n in range(130)))
    works: list[Any] = []
    jobs.import_handlers()
    assert jobs.look_for_jobs(start=works.append).done == 1
    assert waiting(cast) == [cast.acme.pk]
    asyncio.run(works[0]())
    passages = Passage.objects.filter(tenant=cast.acme).count()
    assert passages > 64 and PassageVector.objects.filter(tenant=cast.acme).count() == passages
    assert EmbeddingIndex.objects.get(tenant=cast.acme).built_at is not None
    assert waiting(cast) == []


@pytest.mark.django_db(transaction=True)
def test_a_failure_is_told_and_the_job_tried_again(cast: Cast, letters: LettersEncoder) -> None:
    add_document(tenant=cast.acme, title="One", text="A vehicle.")
    letters.fails = True
    job = Job.objects.get(name=FILL_JOB)
    with pytest.raises(EncoderFailed):
        asyncio.run(fill(cast.acme.pk, job.pk))
    index = EmbeddingIndex.objects.get(tenant=cast.acme)
    assert (index.problem, index.built_at) == ("It is out of order.", None)
    letters.fails = False
    asyncio.run(fill(cast.acme.pk, job.pk))
    index.refresh_from_db()
    assert index.problem == "" and index.built_at is not None


@pytest.mark.django_db(transaction=True)
def test_vectors_of_another_length_are_refused_and_told(
    cast: Cast, letters: LettersEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_document(tenant=cast.acme, title="One", text="A vehicle.")
    embed(cast.acme)
    monkeypatch.setattr(encoding, "DIMENSION", 16)
    add_document(tenant=cast.acme, title="Two", text="A gate.")
    job = Job.objects.get(name=FILL_JOB)
    with pytest.raises(EncoderFailed, match="another length"):
        asyncio.run(fill(cast.acme.pk, job.pk))
    index = EmbeddingIndex.objects.get(tenant=cast.acme)
    assert "another length" in index.problem
    assert index.vectors.count() == 1
    assert search_fused(reach=whole_reach(cast.acme.pk), queries=["gate"], limit=5).hits


def test_rows_of_another_length_are_not_compared(cast: Cast, letters: LettersEncoder) -> None:
    for title in ("One", "Two", "Three"):
        add_document(tenant=cast.acme, title=title, text=f"A vehicle, {title}.")
    embed(cast.acme)
    odd = PassageVector.objects.filter(tenant=cast.acme).order_by("pk").last()
    assert odd is not None
    PassageVector.objects.filter(pk=odd.pk).update(vector=b"\x01" * 16)
    near = rank(tenant_id=cast.acme.pk, queries=["car"], limit=5)
    assert near is not None and len(near.likeness) == 2 and odd.passage_id not in near.likeness


@pytest.mark.django_db(transaction=True)
def test_another_encoder_embeds_anew_while_the_old_index_serves(cast: Cast, letters: LettersEncoder) -> None:
    provider = make_provider(cast.acme, base_url="http://127.0.0.1:9/v1")
    newer = LettersEncoder("letters 2")
    choice.replace_encoders(lambda provider, model: newer if provider else letters)
    add_document(tenant=cast.acme, title="One", text="A vehicle.")
    embed(cast.acme)
    EmbeddingChoice.objects.create(tenant=cast.acme, provider=provider, model="letters-2")
    assert waiting(cast) == [cast.acme.pk]
    near = rank(tenant_id=cast.acme.pk, queries=["car"], limit=5)
    assert near is not None and near.model == "letters 1"
    embed(cast.acme)
    near = rank(tenant_id=cast.acme.pk, queries=["car"], limit=5)
    assert near is not None and near.model == "letters 2"
    assert [one.encoder for one in EmbeddingIndex.objects.filter(tenant=cast.acme)] == ["letters 2"]


@pytest.mark.django_db(transaction=True)
def test_a_switch_deletes_the_vectors(cast: Cast, letters: LettersEncoder) -> None:
    add_document(tenant=cast.acme, title="One", text="A vehicle.")
    embed(cast.acme)
    EmbeddingChoice.objects.create(tenant=cast.acme, is_on=False)
    jobs.import_handlers()
    jobs.look_for_jobs(start=lambda work: None)
    assert not PassageVector.objects.exists() and not EmbeddingIndex.objects.exists()


def test_embedding_anew_begins_from_nothing(cast: Cast, letters: LettersEncoder) -> None:
    for tenant in (cast.acme, cast.globex):
        add_document(tenant=tenant, title="One", text="A vehicle.")
        embed(tenant)
    assert embed_anew(tenant=cast.acme, actor=None) is None
    assert [row.tenant_id for row in PassageVector.objects.all()] == [cast.globex.pk]
    assert waiting(cast) == [cast.acme.pk]


def test_what_a_provider_counts_is_the_tenants_usage(cast: Cast, letters: LettersEncoder) -> None:
    letters.tokens = 10
    prices = {"letters-1": {"input": 2, "output": 0}}
    provider = make_provider(base_url="http://127.0.0.1:9/v1", prices=prices)
    EmbeddingChoice.objects.create(provider=provider, model="letters-1")
    windows = Windows.at(timezone.now())
    began = {f"{window}_at": getattr(windows, window) for window in WINDOWS}
    own = QuotaUse.objects.create(tenant=cast.acme, user=None, **began)
    foreign = QuotaUse.objects.create(tenant=cast.globex, user=None, **began)
    of_member = QuotaUse.objects.create(tenant=cast.acme, user=cast.alice, **began)
    add_document(tenant=cast.acme, title="One", text="A vehicle.")
    embed(cast.acme)
    rank(tenant_id=cast.acme.pk, queries=["car", "van"], limit=5)
    for use in (own, foreign, of_member):
        use.refresh_from_db()
    assert (own.day_tokens, own.month_tokens, own.day_cost, own.month_cost) == (30, 30, 60, 60)
    assert (foreign.month_tokens, of_member.month_tokens) == (0, 0)
    rows = UsageEntry.objects.filter(tenant=cast.acme).order_by("pk")
    assert [(row.input_tokens, row.cost, row.purpose) for row in rows] == [(10, 20, "embed"), (20, 40, "embed")]


def test_a_provider_of_another_tenant_is_never_asked(cast: Cast, letters: LettersEncoder) -> None:
    theirs = make_provider(cast.globex, base_url="http://127.0.0.1:9/v1")
    foreign = EmbeddingChoice(tenant=cast.acme, provider=theirs, model="letters-1")
    with pytest.raises(ValidationError, match="another tenant"):
        foreign.full_clean()
    foreign.save()
    assert choice.choice_of(cast.acme.pk) is None
    with pytest.raises(ValidationError, match="another tenant"):
        EmbeddingChoice(provider=theirs, model="letters-1").full_clean()


def test_each_table_has_a_policy_and_the_choice_for_all_is_for_all() -> None:
    tables = {one.table: one.is_shared_without_tenant for one in protected_tables()}
    own = {name: shared for name, shared in tables.items() if name.startswith("assistant_embeddings_")}
    assert own == {
        "assistant_embeddings_embeddingchoice": True,
        "assistant_embeddings_embeddingindex": False,
        "assistant_embeddings_passagevector": False,
    }


def test_vectors_go_with_their_tenant_and_are_in_no_export(cast: Cast, letters: LettersEncoder) -> None:
    add_document(tenant=cast.acme, title="One", text="A vehicle.")
    embed(cast.acme)
    assert {EmbeddingChoice, EmbeddingIndex, PassageVector} <= set(deletable_models(Tenant))
    target = io.BytesIO()
    export_tenant(tenant=cast.acme, actor=None, to=target)
    with zipfile.ZipFile(target) as archive:
        line = json.loads(archive.read("assistant_embeddings.PassageVector.jsonl").splitlines()[0])
        assert "vector" not in line and line["passage_id"]
        assert not any("-vector" in name for name in archive.namelist())
    Document.objects.filter(tenant=cast.acme).delete()
    assert not PassageVector.objects.exists()
