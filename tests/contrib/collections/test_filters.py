"""The tool that searches a part of the documents: filters only take away, and tell nothing of what is closed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.contrib.collections.library.collections import _readable_ones, search_collections
from assistant.contrib.collections.models import Collection
from assistant.contrib.collections.services.placing import place_documents
from assistant.library.knowledge import search_docs
from assistant.models import Document, Tenant
from assistant.services.knowledge.documents import add_document
from assistant.toolkit import InvalidArguments, ToolContext, ToolError
from tests.base import Cast
from tests.library.calling import call, context_of

pytestmark = pytest.mark.django_db


def add(tenant: Tenant, title: str, collection: Collection | None = None, **fields: Any) -> Document:
    document = add_document(tenant=tenant, title=title, text=f"{title}: a valve stops the water.", **fields)
    if collection is not None:
        place_documents(tenant=tenant, document_ids=[document.pk], collection=collection, actor=None)
    return document


@pytest.fixture
def at_alice(cast: Cast) -> ToolContext:
    return context_of(cast.acme, cast.alice, assistant="support")


def titles(context: ToolContext, **filters: Any) -> set[str]:
    return {one["source"] for one in call(search_collections, context, queries=["valve"], **filters)["results"]}


def test_filters_take_away_what_is_not_wanted(cast: Cast, at_alice: ToolContext) -> None:
    open_one = Collection.objects.create(tenant=cast.acme, name="Manuals")
    manual = add(cast.acme, "Manual", open_one)
    add(cast.acme, "Note", kind=Document.Kind.TEXT)
    Document.objects.filter(pk=manual.pk).update(updated_at=timezone.now() - timedelta(days=400))
    assert titles(at_alice) == {"Manual", "Note"}
    assert titles(at_alice, collection="manuals") == {"Manual"}
    assert titles(at_alice, document=manual.pk) == {"Manual"}
    assert titles(at_alice, kind="text") == {"Note"}
    day = (timezone.now() - timedelta(days=10)).date().isoformat()
    assert titles(at_alice, changed_since=day) == {"Note"}
    assert titles(at_alice, changed_until=day) == {"Manual"}
    assert titles(at_alice, collection="Manuals", kind="text") == set()


def test_a_closed_collection_is_as_good_as_none(cast: Cast, at_alice: ToolContext) -> None:
    closed = Collection.objects.create(tenant=cast.acme, name="Wages", description="Who earns what", roles=["admin"])
    wages = add(cast.acme, "Wages", closed)
    add(cast.globex, "Theirs", Collection.objects.create(tenant=cast.globex, name="Foreign"))
    for name in ("Wages", "Foreign", "Nothing"):
        with pytest.raises(ToolError, match=f"^There is no collection “{name}”. There are: none.$"):
            call(search_collections, at_alice, queries=["valve"], collection=name)
    assert titles(at_alice) == titles(at_alice, document=wages.pk) == set()
    assert _readable_ones(at_alice) == ""
    assert _readable_ones(context_of(cast.acme, cast.amy)) == "Wages (Who earns what)"
    assert titles(context_of(cast.acme, cast.amy), collection="Wages") == {"Wages"}


@pytest.mark.parametrize(
    "wrong", [{"kind": "exe"}, {"changed_since": "soon"}, {"document": 0}, {"collection": "x" * 101}]
)
def test_wrong_filters_are_refused_before_the_search(at_alice: ToolContext, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        call(search_collections, at_alice, queries=["valve"], **wrong)


@pytest.mark.parametrize(
    ("zone", "wrong"),
    [("Asia/Tokyo", {"changed_since": "0001-01-01"}), ("America/New_York", {"changed_until": "9999-12-31"})],
)
def test_days_at_the_ends_of_the_calendar_are_refused(cast: Cast, zone: str, wrong: dict[str, str]) -> None:
    context = context_of(cast.acme, cast.alice)
    far = replace(context, tenant=replace(context.tenant, timezone=zone))
    with pytest.raises(ToolError, match="A day is of the form 2026-05-31"):
        call(search_collections, far, queries=["valve"], **wrong)


def test_the_tool_for_all_documents_has_no_filters() -> None:
    assert set(search_docs.parameters["properties"]) == {"queries", "limit"}
    assert not search_collections.enabled_by_default
