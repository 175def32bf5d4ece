"""Collections in the REST API: admins and owners manage them, and nobody else learns of one."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.models import AuditEntry, Document
from assistant.services.knowledge.documents import add_document
from tests.api.calling import Caller
from tests.api.test_documents import upload
from tests.base import Cast

pytestmark = pytest.mark.django_db
GIVEN = {"name": "Contracts", "roles": ["admin"], "assistants": ["support"]}
SCOPES = ("documents",)


@pytest.fixture
def amy(cast: Cast) -> Caller:
    return Caller(cast.acme, cast.amy, scopes=SCOPES)


@pytest.fixture
def contract(cast: Cast) -> Document:
    return add_document(tenant=cast.acme, title="Contract 17", text="The term is two years.")


def made(caller: Caller, **fields: Any) -> int:
    answer = caller("post", "collections/", {**GIVEN, **fields})
    assert answer.status_code == 201, answer.content
    return int(answer.json()["id"])


def test_an_admin_makes_reads_changes_and_deletes_one(cast: Cast, amy: Caller) -> None:
    pk = made(amy)
    told = amy.get(f"collections/{pk}/").json()
    assert told["assistants"] == ["support"] and told["for_chosen_assistants"] and told["document_count"] == 0
    changed = amy("patch", f"collections/{pk}/", {"assistants": [], "for_chosen_assistants": False, "roles": []})
    assert (changed.json()["assistants"], changed.json()["for_chosen_assistants"]) == ([], False)
    assert [one["name"] for one in amy.get("collections/").json()] == ["Contracts"]
    assert amy("delete", f"collections/{pk}/").status_code == 204
    assert not Collection.objects.exists()
    actions = list(AuditEntry.objects.filter(tenant=cast.acme).order_by("pk").values_list("action", flat=True))
    assert [one for one in actions if one.startswith("collection")] == [
        "collection.add",
        "collection.change",
        "collection.delete",
    ]
    assert AuditEntry.objects.get(action="collection.add").actor_id == cast.amy.pk


def test_a_collection_that_loses_its_assistants_by_a_change_stays_closed(amy: Caller) -> None:
    pk = made(amy)
    assert amy("patch", f"collections/{pk}/", {"assistants": []}).json()["for_chosen_assistants"] is True


def test_documents_are_placed_listed_and_taken_out(cast: Cast, amy: Caller, contract: Document) -> None:
    pk = made(amy)
    place = f"collections/{pk}/documents/"
    row = {"model": "assistant.membership", "key": "1"}
    assert amy("post", place, {"documents": [contract.pk], "row": row}).json() == {"placed": 1}
    entry = CollectedDocument.objects.get()
    assert (entry.row_model, entry.row_key) == ("assistant.Membership", "1")
    # Without a row it stays with the one that it has.
    assert amy("post", place, {"documents": [contract.pk]}).json() == {"placed": 0}
    assert [one["id"] for one in amy.get(place).json()["results"]] == [contract.pk]
    assert amy("delete", f"collections/{pk}/").status_code == 409
    assert Collection.objects.exists() and not AuditEntry.objects.filter(action="collection.delete").exists()
    assert amy("delete", f"{place}{contract.pk}/").status_code == 204
    assert amy("delete", f"{place}{contract.pk}/").status_code == 404
    assert not CollectedDocument.objects.exists()


def test_what_is_another_tenants_is_not_there(cast: Cast, amy: Caller, contract: Document) -> None:
    pk = made(amy)
    amy("post", f"collections/{pk}/documents/", {"documents": [contract.pk]})
    theirs = add_document(tenant=cast.globex, title="Theirs", text="Text.")
    refused = amy("post", f"collections/{pk}/documents/", {"documents": [theirs.pk]})
    absent = amy("post", f"collections/{pk}/documents/", {"documents": [2**40]})
    assert (refused.status_code, refused.content) == (400, absent.content)
    assert (
        amy("post", "collections/", {"name": "X", "assistants": [cast.rival_support.slug, "legal"]}).status_code == 400
    )
    greta = Caller(cast.globex, cast.greta, scopes=SCOPES)
    assert greta.get("collections/").json() == []
    for method, path in (
        ("get", f"collections/{pk}/"),
        ("patch", f"collections/{pk}/"),
        ("delete", f"collections/{pk}/"),
        ("get", f"collections/{pk}/documents/"),
        ("post", f"collections/{pk}/documents/"),
        ("delete", f"collections/{pk}/documents/{contract.pk}/"),
    ):
        body = {"documents": [contract.pk]} if method == "post" else {"roles": []} if method == "patch" else None
        assert greta(method, path, body).status_code == 404, (method, path)


def test_members_are_told_the_same_whatever_is_there(cast: Cast, amy: Caller, contract: Document) -> None:
    pk = made(amy)
    amy("post", f"collections/{pk}/documents/", {"documents": [contract.pk]})
    alice = Caller(cast.acme, cast.alice, scopes=SCOPES)
    for path in ("collections/", "collections/{}/", "collections/{}/documents/", f"documents/{contract.pk}/"):
        there = alice.get(path.format(pk))
        nowhere = alice.get(path.format(2**40))
        assert (there.status_code, there.content) == (403, nowhere.content)
        assert b"Contract" not in there.content
    assert alice("delete", f"documents/{contract.pk}/").status_code == 403
    assert alice("post", "collections/", GIVEN).status_code == 403
    assert Collection.objects.count() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"roles": ["king"]},
        {"roles": ["admin", "admin"]},
        {"permission": "everything"},
        {"assistants": ["nobody"]},
        {"name": "   "},
        {"name": "x" * 101},
        {"description": "x" * 301},
        {"for_chosen_assistants": "yes"},
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(fields: dict[str, Any], amy: Caller) -> None:
    answer = amy("post", "collections/", {**GIVEN, **fields})
    assert answer.status_code == 400 and answer.json()["message"]
    assert not Collection.objects.exists()


def test_a_name_is_taken_within_the_tenant_alone(cast: Cast, amy: Caller) -> None:
    made(amy)
    assert amy("post", "collections/", GIVEN).status_code == 400
    made(Caller(cast.globex, cast.greta, scopes=SCOPES))


@pytest.mark.parametrize("row", [{"model": "nothing.There", "key": "1"}, {"model": "auth.User", "key": " "}, {}])
def test_a_row_of_no_model_is_refused(row: Any, amy: Caller, contract: Document) -> None:
    pk = made(amy)
    answer = amy("post", f"collections/{pk}/documents/", {"documents": [contract.pk], "row": row})
    assert answer.status_code == 400 and not CollectedDocument.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_upload_goes_into_a_collection_before_anybody_can_find_it(cast: Cast, amy: Caller) -> None:
    pk = made(amy)
    answer = upload(amy.key, collection="Contracts")
    assert answer.status_code == 201
    assert [one["id"] for one in amy.get(f"collections/{pk}/documents/").json()["results"]] == [answer.json()["id"]]
    assert upload(amy.key, name="other.md", content=b"Other.", collection="Nowhere").status_code == 400
    assert Document.objects.count() == 1
