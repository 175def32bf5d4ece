"""Rows of a project as knowledge: what is declared, the jobs that make documents of them, and what is left closed.

The shop's own tests (`tests/host_project/shop/orders/tests_knowledge.py`) show who finds what.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from assistant.contrib.data import checks, knowledge_sources
from assistant.contrib.data.knowledge_sources import KnowledgeSource
from assistant.contrib.data.models import RowDocument
from assistant.contrib.data.services import row_changes, row_documents
from assistant.contrib.data.services.row_documents import sync_batch
from assistant.contrib.data.services.row_signals import SOURCE_JOB
from assistant.models import Conversation, Document, Job
from assistant.services.jobs import jobs
from assistant.services.knowledge.reach import reach_of
from assistant.toolkit import InvalidTool
from tests.base import Cast
from tests.factories import make_conversation
from tests.library.calling import context_of

pytestmark = pytest.mark.django_db(transaction=True)
LABEL = "assistant.Conversation"


@pytest.fixture(autouse=True)
def no_sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(knowledge_sources, "_sources", [])
    yield


def talks() -> KnowledgeSource:
    return KnowledgeSource(Conversation.objects.all(), text="title")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: KnowledgeSource([], text="title"), "takes a queryset"),
        (lambda: KnowledgeSource(Conversation.objects.all(), text="title", kind="pdf"), "kind is markdown"),
        (lambda: KnowledgeSource(Conversation.objects.all(), text=lambda: ""), "text"),
        (lambda: [talks(), talks()], "made twice"),
    ],
)
def test_what_is_no_source_is_refused(make: Any, why: str) -> None:
    with pytest.raises(InvalidTool, match=why):
        make()


def test_a_source_of_a_model_that_is_not_exposed_is_warned_of(cast: Cast) -> None:
    talks()
    assert [one.id for one in checks.exposed_models(None)].count("assistant_data.W003") == 1


def test_what_was_made_of_rows_is_found_by_nobody_once_no_source_is_declared(cast: Cast) -> None:
    make_conversation(cast.alice, cast.support, title="Merger with Initech")
    talks()
    sync_batch(tenant_id=cast.acme.pk, label=LABEL, after=None)
    knowledge_sources._sources.clear()
    assert Document.objects.filter(tenant=cast.acme).exists()
    assert not reach_of(context_of(cast.acme, cast.alice)).documents().exists()


async def test_a_job_makes_the_documents_of_a_tenant_and_waits_for_its_next_time(cast: Cast, monkeypatch: Any) -> None:
    monkeypatch.setattr(row_documents, "BATCH", 2)
    make = sync_to_async(make_conversation)
    for number in range(5):
        await make(cast.alice, cast.support, title=f"Talk {number}")
    await make(cast.mallory, cast.rival_support, title="Theirs")
    talks()
    assert await sync_to_async(row_changes.plan_sources)() == 2
    works: list[Any] = []
    await sync_to_async(jobs.look_for_jobs)(start=works.append)
    for work in works:
        await work()
    made = await sync_to_async(lambda: list(Document.objects.order_by("title").values_list("tenant__slug", "text")))()
    assert made == [*(("acme", f"Talk {number}") for number in range(5)), ("globex", "Theirs")]
    left = await sync_to_async(lambda: list(Job.objects.filter(name=SOURCE_JOB)))()
    assert [job.state for job in left] == ["waiting", "waiting"]
    assert all((job.due_at - timezone.now()).total_seconds() > 3000 for job in left)
    # A row that is gone, and a source that is no longer declared.
    await sync_to_async(Conversation.objects.filter(title="Talk 3").delete)()
    assert await sync_to_async(row_documents.remove_batch)(tenant_id=cast.acme.pk, label=LABEL, after=0) is not None
    knowledge_sources._sources.clear()
    await row_changes.sync_source(cast.acme.pk, LABEL, left[0].pk)
    kept = await sync_to_async(lambda: set(RowDocument.objects.values_list("tenant__slug", flat=True)))()
    assert kept == {"globex"}
    assert not await sync_to_async(Job.objects.filter(pk=left[0].pk).exists)()
