"""Documents in the REST API: admins and owners upload, change and delete their tenant's; others are refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from assistant.library.knowledge import search_docs
from assistant.models import AuditEntry, Document
from assistant.services.knowledge import places
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.files import MAX_FILE_BYTES
from tests.api.calling import Caller, key_of
from tests.base import Cast
from tests.library.calling import call, context_of
from tests.services.files import samples

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENTS = "/api/v1/tenants/acme/documents/"
TEXT = b"# Parking\n\nCars stand in the yard."


@pytest.fixture
def amy(cast: Cast) -> Caller:
    return Caller(cast.acme, cast.amy, scopes=("documents",))


def upload(key: str, name: str = "parking.md", content: bytes = TEXT, path: str = DOCUMENTS, **form: str) -> Any:
    file = SimpleUploadedFile(name, content)
    client = Client(raise_request_exception=False)
    return client.post(path, {"file": file, **form}, headers={"Authorization": f"Bearer {key}"})


def test_a_file_becomes_a_document_and_a_new_version_takes_its_place(cast: Cast, amy: Caller) -> None:
    made = upload(amy.key)
    assert (made.status_code, made.json()["title"], made.json()["outcome"]) == (201, "Parking", "added")
    pk = made.json()["id"]
    assert upload(amy.key).json()["outcome"] == "unchanged"
    again = upload(amy.key, content=b"# Parking\n\nCars stand in the street.", is_trusted="true")
    assert (again.status_code, again.json()["id"], again.json()["outcome"]) == (200, pk, "replaced")
    found = call(search_docs, context_of(cast.acme, cast.alice), queries=["cars in the street"])["results"]
    assert "street" in found[0]["text"]
    actions = AuditEntry.objects.filter(tenant=cast.acme, actor=cast.amy, action__startswith="document.")
    assert list(actions.order_by("pk").values_list("action", flat=True)) == ["document.add", "document.replace"]


def test_documents_are_listed_read_changed_and_deleted(cast: Cast, amy: Caller) -> None:
    pks = [add_document(tenant=cast.acme, title=f"Paper {number}", text="Text.").pk for number in range(3)]
    page = amy.get("documents/", limit=2).json()
    assert ([one["id"] for one in page["results"]], page["next"]) == (pks[:2], pks[1])
    assert "text" not in page["results"][0] and page["results"][0]["characters"] == 5
    assert [one["id"] for one in amy.get("documents/", after=page["next"]).json()["results"]] == pks[2:]
    assert [one["title"] for one in amy.get("documents/", q="per 1").json()["results"]] == ["Paper 1"]
    changed = amy("patch", f"documents/{pks[0]}/", {"title": "Hours", "is_trusted": True}).json()
    assert (changed["title"], changed["is_trusted"], changed["text"]) == ("Hours", True, "Text.")
    taken = amy("patch", f"documents/{pks[0]}/", {"title": "Paper 1"})
    assert taken.status_code == 400 and "titled" in taken.json()["message"]
    assert amy("patch", f"documents/{pks[0]}/", {}).status_code == 400
    assert amy("delete", f"documents/{pks[0]}/").status_code == 204
    assert not Document.objects.filter(pk=pks[0]).exists()
    assert AuditEntry.objects.get(action="document.delete").target == "Hours"


def test_another_tenants_and_absent_documents_are_alike(cast: Cast, amy: Caller) -> None:
    theirs = add_document(tenant=cast.globex, title="Theirs", text="Text.")
    assert amy.get("documents/").json()["results"] == []
    for method in ("get", "patch", "delete"):
        body = {"title": "X"} if method == "patch" else None
        found, absent = (amy(method, f"documents/{pk}/", body) for pk in (theirs.pk, 2**70))
        assert (found.status_code, found.content) == (404, absent.content)
    # A title of theirs is free here, and a file of its name replaces nothing of theirs.
    assert upload(amy.key, name="Theirs.txt", content=b"Ours.").json()["outcome"] == "added"
    assert Document.objects.get(pk=theirs.pk).text == "Text."


def test_members_and_other_scopes_upload_nothing(cast: Cast) -> None:
    member = key_of(cast.acme, cast.alice, scopes=("documents",))
    rest = key_of(cast.acme, cast.amy, scopes=("chat", "read", "tools"))
    stranger = key_of(cast.globex, cast.greta, scopes=("documents",))
    assert [upload(key).status_code for key in (member, rest, stranger, "ta_none")] == [403, 403, 404, 401]
    assert not Document.objects.exists()


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("a.pdf", b"no pdf", 415),
        ("a.exe", b"MZ\x00\x01", 415),
        ("a.md", b"", 400),
        ("a.md", b"  \n", 400),
        ("a.png", samples.PNG, 400),
        ("a.docx", samples.PNG, 415),
        ("a.txt", b"\xff\xfe\x00", 415),
        ("a.txt", b"x" * (MAX_FILE_BYTES + 1), 413),
    ],
)
def test_a_file_that_is_no_document_is_refused_with_a_sentence(
    name: str, content: bytes, status: int, amy: Caller
) -> None:
    answer = upload(amy.key, name=name, content=content)
    assert answer.status_code == status, answer.content
    assert answer.json()["message"].endswith(".") and not Document.objects.exists()


def test_a_form_that_is_wrong_is_refused(cast: Cast, amy: Caller) -> None:
    for form in ({"is_trusted": "perhaps"}, {"title": "x" * 201}, {"collection": "No such"}):
        assert upload(amy.key, **form).status_code == 400
    assert amy("post", "documents/", {"title": "X"}).status_code == 415
    assert not Document.objects.exists()


def test_where_no_app_has_collections_none_is_there(amy: Caller) -> None:
    before = places._places
    places.place_with(None)
    answer = upload(amy.key, collection="Contracts")
    places.place_with(before)
    assert answer.status_code == 400 and "no collection" in answer.json()["message"]
    assert not Document.objects.exists()
