"""Labels that name a passage: by its words, which are found again in the next version of the document."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from typing import Any

import pytest
from django.test import Client

from assistant.contrib.data_exports.exports import export_tenant
from assistant.contrib.gaps.models import MAX_PASSAGE, QuestionLabel
from assistant.contrib.gaps.services.checking import check
from assistant.contrib.gaps.services.labelled_passages import (
    PassageText,
    check_labels,
    offered_passages,
    positions_of,
)
from assistant.contrib.gaps.services.labels import LabelRefused, label_question
from assistant.contrib.gaps.services.measuring import measure_search
from assistant.models import AuditEntry, CustomRole, Document, Membership
from assistant.services.knowledge.documents import add_document, store_document
from tests.base import Cast

pytestmark = pytest.mark.django_db
PAGE = "/admin/assistant_gaps/openquestion/"
LABELS = "/admin/assistant_gaps/questionlabel/"
REST = "/api/v1/tenants/acme/knowledge/labels/"
GARAGE = "The garage closes at nine in the evening, and on Sundays it stays locked all day long."
BIKES = "Bicycles stand in the yard behind the garage, below the roof that the warden has built."
TEXT = f"# Garage\n\n{GARAGE}\n\n# Yard\n\n{BIKES}"
QUESTION = "When does the garage close?"


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def site_rules(cast: Cast) -> Document:
    return add_document(tenant=cast.acme, title="Site rules", text=TEXT)


def label(cast: Cast, document: Document | None, question: str = QUESTION, passage: str = "") -> QuestionLabel:
    document_id = document.pk if document is not None else None
    return label_question(tenant=cast.acme, question=question, document_id=document_id, passage=passage, actor=cast.amy)


def replaced(document: Document, text: str) -> None:
    document.text = text
    store_document(document=document)
    check_labels(tenant_id=document.tenant_id)


def test_a_label_keeps_words_that_its_document_has(cast: Cast, site_rules: Document) -> None:
    row = label(cast, site_rules, passage=" closes at  NINE\nin the evening")
    assert (row.passage, row.is_lost) == ("closes at NINE in the evening", False)
    assert AuditEntry.objects.get(action="questionlabel.add").details["passages"] == [1]
    # A label replaces the earlier one as a whole.
    assert label(cast, site_rules).passage == ""


def test_words_of_no_passage_or_of_another_tenants_are_refused(cast: Cast, site_rules: Document) -> None:
    theirs = add_document(tenant=cast.globex, title="Theirs", text="The vault opens at midnight.")
    for document, passage, sentence in (
        (site_rules, "The vault opens at midnight.", "No passage of the document"),
        (theirs, "The vault opens at midnight.", "no such document"),
        (None, "The garage closes", "needs the document"),
        (site_rules, "x" * (MAX_PASSAGE + 1), "700 characters"),
    ):
        with pytest.raises(LabelRefused, match=sentence):
            label(cast, document, passage=passage)
    assert not QuestionLabel.objects.exists()


def test_the_best_passage_of_the_document_is_offered_first(cast: Cast, site_rules: Document) -> None:
    add_document(tenant=cast.acme, title="Garage", text="When does the garage close? The garage closes at eight.")
    row = label(cast, site_rules)
    assert offered_passages(row)[0].position == 1
    assert {one.document_id for one in offered_passages(row)} == {site_rules.pk}
    without_a_word = label(cast, site_rules, "Submarines?")
    assert [one.position for one in offered_passages(without_a_word)] == [1, 2]


def test_a_search_is_measured_by_the_passage_where_one_is_named(cast: Cast, site_rules: Document) -> None:
    label(cast, site_rules, "Where does the garage have its yard for bicycles below the roof?", BIKES)
    # The search finds the other passage of the document, which does not answer.
    label(cast, site_rules, "garage evening Sundays", "that the warden has built")
    label(cast, site_rules, "garage locked Sundays")
    figures = measure_search(tenant_id=cast.acme.pk)
    by_passage = figures.by_passage
    by_document = figures.by_document
    assert (by_passage.questions, by_passage.first, by_document.questions, by_document.first) == (2, 1, 1, 1)
    assert by_passage.mrr < 1 == by_document.mrr and figures.lost == 0
    page = signed_in(cast.amy).post(PAGE, {"measure": "1"}).content.decode()
    assert "By the passage that the label names" in page and "By the document, where" in page


def test_a_new_version_has_the_passage_by_its_words(cast: Cast, site_rules: Document) -> None:
    row = label(cast, site_rules, passage=GARAGE)
    replaced(site_rules, f"# News\n\nA fountain.\n\n# Garage\n\n{GARAGE.replace('nine', 'ten')}\n\n{BIKES}")
    row.refresh_from_db()
    assert not row.is_lost and measure_search(tenant_id=cast.acme.pk).by_passage.questions == 1


def test_a_label_says_that_its_document_has_the_passage_no_more(cast: Cast, site_rules: Document) -> None:
    row = label(cast, site_rules, passage=GARAGE)
    changed_at = row.changed_at
    replaced(site_rules, BIKES)
    row.refresh_from_db()
    assert row.is_lost and row.changed_at == changed_at
    figures = measure_search(tenant_id=cast.acme.pk)
    assert (figures.lost, figures.by_document.questions, figures.by_passage.questions) == (1, 1, 0)
    amys = signed_in(cast.amy)
    assert "1 of these names a passage" in amys.post(PAGE, {"measure": "1"}).content.decode()
    assert "No longer in the document" in amys.get(LABELS).content.decode()
    assert "has these words any more" in amys.get(f"{PAGE}?tenant={cast.acme.pk}&label={row.pk}").content.decode()
    assert amys.get(REST).json()[0]["is_passage_lost"] is True
    replaced(site_rules, TEXT)
    row.refresh_from_db()
    assert not row.is_lost


def test_few_words_are_found_only_as_they_stand() -> None:
    texts = {1: "The pump is blue and the valve is red.", 2: "The pump is green and the valve is red."}
    passages = {position: PassageText(text) for position, text in texts.items()}
    assert positions_of("valve is red", passages) == {1, 2}
    assert positions_of("The pump is blue and the valve is red.", passages) == {1}
    assert positions_of("valve is yellow", passages) == frozenset()
    assert positions_of("x y z u v w", {}) == frozenset()
    # ß and ss are one letter in both ways of finding.
    street = {1: PassageText("Die Straße am Hafen bleibt im Winter nach Schnee gesperrt.")}
    assert positions_of("Die STRASSE am Hafen blieb im Winter nach Schnee gesperrt.", street) == {1}


@pytest.mark.django_db(transaction=True)
def test_the_check_of_documents_looks_at_the_labels_too(cast: Cast, site_rules: Document) -> None:
    row = label(cast, site_rules, passage=GARAGE)
    Document.objects.get(pk=site_rules.pk).passages.all().delete()
    asyncio.run(check(cast.acme.pk, 0))
    row.refresh_from_db()
    assert row.is_lost


def test_an_admin_labels_with_one_click_and_then_chooses_the_passage(cast: Cast, site_rules: Document) -> None:
    amys = signed_in(cast.amy)
    answer = amys.post(PAGE, {"question": QUESTION, "document": "Site rules"})
    row = QuestionLabel.objects.get()
    assert row.passage == "" and answer["Location"].endswith(f"?tenant={cast.acme.pk}&label={row.pk}#gaps-passage")
    page = amys.get(answer["Location"]).content.decode()
    assert re.search(rf'value="{re.escape(GARAGE)}" checked', page)
    amys.post(PAGE, {"passage_of": row.pk, "passage": GARAGE, "words": ""})
    row.refresh_from_db()
    assert row.passage == GARAGE
    # Words of one's own come before the passage that is chosen.
    amys.post(PAGE, {"passage_of": row.pk, "passage": GARAGE, "words": "behind the garage"})
    row.refresh_from_db()
    assert row.passage == "behind the garage"
    assert "Named now:" in amys.get(answer["Location"]).content.decode()
    refused = amys.post(PAGE, {"passage_of": row.pk, "words": "in the moat"}, follow=True).content.decode()
    assert "No passage of the document has these words." in refused and "Which passage answers it?" in refused


def test_a_label_that_nothing_answers_has_no_passage_to_choose(cast: Cast) -> None:
    row = label(cast, None)
    assert "gaps-passage" not in signed_in(cast.amy).get(f"{PAGE}?label={row.pk}").content.decode()


@pytest.mark.parametrize("value", ["", "x", "9" * 30, "-1", "0"])
def test_numbers_of_no_label_break_nothing(cast: Cast, value: str) -> None:
    amys = signed_in(cast.amy)
    assert amys.get(f"{PAGE}?tenant={cast.acme.pk}&label={value}").status_code == 200
    assert amys.post(PAGE, {"passage_of": value, "words": "w"}).status_code == 302


def test_the_rival_neither_sees_nor_names_a_passage(cast: Cast, site_rules: Document) -> None:
    row = label(cast, site_rules, passage=GARAGE)
    gretas = signed_in(cast.greta)
    assert "garage" not in gretas.get(f"{PAGE}?tenant={cast.globex.pk}&label={row.pk}").content.decode()
    gretas.post(PAGE, {"passage_of": row.pk, "words": "Bicycles"})
    assert gretas.post(f"{PAGE}?tenant={cast.acme.pk}", {"passage_of": row.pk, "words": "Bicycles"}).status_code == 404
    row.refresh_from_db()
    assert row.passage == GARAGE
    assert measure_search(tenant_id=cast.globex.pk).by_passage.questions == 0


def test_a_role_that_reads_chats_labels_documents_and_reads_none(cast: Cast, site_rules: Document) -> None:
    role = CustomRole.objects.create(tenant=cast.acme, name="Reader", read_chats=True)
    Membership.objects.get(tenant=cast.acme, user=cast.alice).custom_roles.add(role)
    cast.alice.is_staff = True
    cast.alice.save()
    alices = signed_in(cast.alice)
    answer = alices.post(PAGE, {"question": QUESTION, "document": "Site rules"})
    row = QuestionLabel.objects.get()
    assert "label=" not in answer["Location"]
    assert "Sundays" not in alices.get(f"{PAGE}?tenant={cast.acme.pk}&label={row.pk}").content.decode()
    for words in ("Sundays", "in the moat"):
        answer = alices.post(PAGE, {"passage_of": row.pk, "words": words}, follow=True)
        assert "There is no such label any more." in answer.content.decode()
    row.refresh_from_db()
    assert row.passage == ""


def test_the_words_are_in_the_tenants_export_and_go_with_the_document(cast: Cast, site_rules: Document) -> None:
    label(cast, site_rules, passage="closes at nine")
    for tenant, has_them in ((cast.acme, True), (cast.globex, False)):
        file = io.BytesIO()
        export_tenant(tenant=tenant, actor=None, to=file)
        with zipfile.ZipFile(file) as archive:
            labels = [archive.read(name) for name in archive.namelist() if "QuestionLabel" in name]
        assert any(b"closes at nine" in rows for rows in labels) is has_them
    site_rules.delete()
    assert not QuestionLabel.objects.exists()


def test_rest_names_a_passage_by_its_words(cast: Cast, site_rules: Document) -> None:
    amys = signed_in(cast.amy)
    given = {"question": QUESTION, "document": site_rules.pk, "passage": "closes at nine"}
    made = amys.post(REST, given, content_type="application/json")
    assert (made.status_code, made.json()["passage"], made.json()["is_passage_lost"]) == (201, "closes at nine", False)
    # What only stored documents refuse is a conflict, as everywhere in the API.
    for wrong, status, code in (
        ({"passage": "in the moat"}, 409, "conflict"),
        ({"document": None}, 400, "invalid_input"),
        ({"passage": "x" * 701}, 400, "invalid_input"),
        ({"passage": 7}, 400, "invalid_input"),
    ):
        answer = amys.post(REST, {**given, **wrong}, content_type="application/json")
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert QuestionLabel.objects.get().passage == "closes at nine"
