"""The page of collections: a tenant's admin makes one, says who may read it, and puts documents in, many at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.contrib.collections.services.placing import place_documents
from assistant.models import AuditEntry, Membership
from assistant.services.knowledge.documents import add_document
from tests.base import Cast

pytestmark = pytest.mark.django_db
PAGE = "/admin/assistant_collections/collection/"


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def form(cast: Cast, **fields: Any) -> dict[str, Any]:
    return {"tenant": cast.acme.pk, "name": "Contracts", "description": "", "permission": "", **fields}


def test_an_admin_makes_a_collection_and_puts_documents_in(cast: Cast) -> None:
    amys = signed_in(cast.amy)
    ours = [add_document(tenant=cast.acme, title=f"Ours {number}", text="Text.") for number in range(2)]
    amys.post(f"{PAGE}add/", form(cast, roles=["admin", "owner"], assistants=[cast.support.pk]))
    row = Collection.objects.get(tenant=cast.acme)
    assert (row.roles, list(row.assistants.all())) == (["admin", "owner"], [cast.support])
    answer = amys.post(f"{PAGE}{row.pk}/change/", form(cast, roles=["admin"], documents=[one.pk for one in ours]))
    assert answer.status_code == 302
    assert set(CollectedDocument.objects.values_list("document_id", flat=True)) == {one.pk for one in ours}
    page = amys.get(f"{PAGE}{row.pk}/change/").content.decode()
    assert page.count(" selected>Ours") == 2
    amys.post(f"{PAGE}{row.pk}/change/", form(cast, roles=["admin"], documents=[ours[0].pk]))
    assert [entry.document_id for entry in CollectedDocument.objects.all()] == [ours[0].pk]
    actions = AuditEntry.objects.filter(tenant=cast.acme, action__startswith="collection.").values_list("action")
    assert {name for (name,) in actions} == {"collection.add", "collection.change", "collection.place"}
    assert "everybody" not in amys.get(PAGE).content.decode().split("result_list")[1]


def test_a_collection_whose_assistant_is_deleted_stays_closed_until_an_admin_opens_it(cast: Cast) -> None:
    amys = signed_in(cast.amy)
    amys.post(f"{PAGE}add/", form(cast, assistants=[cast.support.pk]))
    row = Collection.objects.get(tenant=cast.acme)
    assert row.for_chosen_assistants
    row.assistants.clear()
    page = f"{PAGE}{row.pk}/change/"
    assert amys.get(page).context["adminform"].form["for_chosen_assistants"].value() is True
    assert "nobody" in amys.get(PAGE).content.decode().split("result_list")[1]
    amys.post(page, form(cast, for_chosen_assistants="on"))
    assert Collection.objects.get(pk=row.pk).for_chosen_assistants
    amys.post(page, form(cast))
    assert not Collection.objects.get(pk=row.pk).for_chosen_assistants


def test_a_document_that_the_page_moves_stays_with_its_row(cast: Cast) -> None:
    document = add_document(tenant=cast.acme, title="Ours", text="Text.")
    first, second = (Collection.objects.create(tenant=cast.acme, name=name) for name in ("First", "Second"))
    row = Membership.objects.get(tenant=cast.acme, user=cast.alice)
    place_documents(tenant=cast.acme, document_ids=[document.pk], collection=first, actor=cast.amy, row=row)
    signed_in(cast.amy).post(f"{PAGE}{second.pk}/change/", form(cast, name="Second", documents=[document.pk]))
    entry = CollectedDocument.objects.get()
    assert (entry.collection, entry.row_model) == (second, "assistant.Membership")


def test_documents_and_assistants_of_others_are_refused(cast: Cast) -> None:
    amys = signed_in(cast.amy)
    theirs = add_document(tenant=cast.globex, title="Theirs", text="Text.")
    row = Collection.objects.create(tenant=cast.acme, name="Contracts")
    answer = amys.post(f"{PAGE}{row.pk}/change/", form(cast, documents=[theirs.pk]))
    assert answer.status_code == 200 and "Theirs" not in answer.content.decode()
    amys.post(f"{PAGE}{row.pk}/change/", form(cast, assistants=[cast.rival_support.pk]))
    assert not CollectedDocument.objects.exists() and not row.assistants.exists()


def test_the_page_is_for_admins_of_the_tenant_alone(cast: Cast) -> None:
    row = Collection.objects.create(tenant=cast.acme, name="Contracts")
    assert "Contracts" not in signed_in(cast.greta).get(PAGE).content.decode()
    assert signed_in(cast.greta).get(f"{PAGE}{row.pk}/change/").status_code in (302, 404)
    assert signed_in(cast.alice).get(PAGE).status_code in (302, 403)
    assert Client().get(PAGE).status_code == 302


def test_a_collection_with_documents_is_not_deleted_by_its_page(cast: Cast) -> None:
    amys = signed_in(cast.amy)
    row = Collection.objects.create(tenant=cast.acme, name="Contracts")
    document = add_document(tenant=cast.acme, title="Ours", text="Text.")
    CollectedDocument.objects.create(tenant=cast.acme, collection=row, document=document)
    amys.post(f"{PAGE}{row.pk}/delete/", {"post": "yes"})
    assert Collection.objects.filter(pk=row.pk).exists()
    CollectedDocument.objects.all().delete()
    amys.post(f"{PAGE}{row.pk}/delete/", {"post": "yes"})
    assert not Collection.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("value", [["king"], "admin", ["admin", "admin"]])
def test_roles_are_a_list_of_roles(cast: Cast, value: Any) -> None:
    from django.core.exceptions import ValidationError

    with pytest.raises(ValidationError):
        Collection(tenant=cast.acme, name="C", roles=value).full_clean()
