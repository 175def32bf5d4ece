"""The REST API of gaps: for admins of the tenant, with keys of the scope `knowledge`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.gaps.models import QuestionLabel
from assistant.contrib.gaps.services.recording import record_tenant
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.contrib.gaps.rows import asked

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/tenants/acme/knowledge/"


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_an_admin_reads_gaps_and_labels_questions(cast: Cast) -> None:
    pets = add_document(tenant=cast.acme, title="Pets", text="Dogs are welcome.")
    asked(cast, "May I bring my dog?")
    record_tenant(tenant_id=cast.acme.pk, now=timezone.now() + timedelta(minutes=2))
    amys = signed_in(cast.amy)
    gaps = amys.get(f"{ROOT}gaps/").json()
    assert [(one["question"], one["times"]) for one in gaps["questions"]] == [("May I bring my dog?", 1)]
    assert (gaps["unreached"], gaps["unreached_count"]) == ([{"id": pets.pk, "title": "Pets"}], 1)
    given = {"question": "May I bring my dog?", "document": pets.pk}
    made = amys.post(f"{ROOT}labels/", given, content_type="application/json")
    assert (made.status_code, made.json()["document"]) == (201, pets.pk)
    assert amys.get(f"{ROOT}gaps/").json()["questions"] == []
    assert [one["id"] for one in amys.get(f"{ROOT}labels/").json()] == [made.json()["id"]]
    assert amys.delete(f"{ROOT}labels/{made.json()['id']}/").status_code == 204
    assert amys.delete(f"{ROOT}labels/{made.json()['id']}/").status_code == 404


def test_members_and_rivals_are_refused(cast: Cast) -> None:
    theirs = add_document(tenant=cast.globex, title="Theirs", text="Text.")
    label = QuestionLabel.objects.create(tenant=cast.acme, question="Q?", key="k")
    for user, status in ((cast.alice, 403), (cast.greta, 404), (cast.mallory, 404)):
        client = signed_in(user)
        assert client.get(f"{ROOT}gaps/").status_code == status
        assert client.get(f"{ROOT}labels/").status_code == status
        given = {"question": "Q?", "document": None}
        assert client.post(f"{ROOT}labels/", given, content_type="application/json").status_code == status
        assert client.delete(f"{ROOT}labels/{label.pk}/").status_code == status
    answer = signed_in(cast.greta).delete(f"/api/v1/tenants/globex/knowledge/labels/{label.pk}/")
    assert answer.status_code == 404 and QuestionLabel.objects.filter(pk=label.pk).exists()
    foreign = {"question": "Q?", "document": theirs.pk}
    refused = signed_in(cast.amy).post(f"{ROOT}labels/", foreign, content_type="application/json")
    assert (refused.status_code, "no such document" in refused.content.decode()) == (409, True)


@pytest.mark.parametrize(
    "given",
    [{}, {"question": ""}, {"question": "Q?"}, {"question": "x" * 501, "document": None},
     {"question": "Q?", "document": 0}, {"question": "Q?", "document": None, "wordings": ["w"] * 6},
     {"question": "Q?", "document": None, "wordings": [""]}, {"question": " ", "document": None},
     {"question": "Q?", "document": None, "wordings": [" "]}, {"question": "Q?", "document": None, "passage": "x"}],
)  # fmt: skip
def test_a_label_that_is_none_is_refused(cast: Cast, given: dict[str, Any]) -> None:
    answer = signed_in(cast.amy).post(f"{ROOT}labels/", given, content_type="application/json")
    assert answer.status_code == 400 and not QuestionLabel.objects.exists()
