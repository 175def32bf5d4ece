"""The pages of the control panel about embeddings: what each tenant's admin sees and may do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.embeddings.models import EmbeddingChoice, EmbeddingIndex, PassageVector
from assistant.contrib.embeddings.services.choice import choice_of
from assistant.models import Assistant, AuditEntry, Provider
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.contrib.embeddings.conftest import embed
from tests.contrib.embeddings.encoding import LettersEncoder
from tests.factories import make_provider

INDEXES = "/admin/assistant_embeddings/embeddingindex/"
CHOICES = "/admin/assistant_embeddings/embeddingchoice/"


def signed_in(user: object) -> Client:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client


def embedded(cast: Cast) -> None:
    for tenant in (cast.acme, cast.globex):
        add_document(tenant=tenant, title="One", text="A vehicle.")
        embed(tenant)


def test_the_list_says_how_many_passages_have_vectors(cast: Cast, letters: LettersEncoder) -> None:
    embedded(cast)
    add_document(tenant=cast.acme, title="Two", text="A gate.")
    page = signed_in(cast.amy).get(INDEXES).content.decode()
    assert "1 of 2" in page and "1 of 1" not in page
    everything = signed_in(cast.root).get(INDEXES).content.decode()
    assert "1 of 2" in everything and "1 of 1" in everything
    assert "1 of 2" not in signed_in(cast.alice).get(INDEXES).content.decode()


def test_without_the_switch_there_is_no_page(cast: Cast, letters: LettersEncoder, settings: Any) -> None:
    assert INDEXES in signed_in(cast.root).get("/admin/assistant/provider/").content.decode()
    settings.ASSISTANT_EMBEDDINGS = False
    assert INDEXES not in signed_in(cast.root).get("/admin/assistant/provider/").content.decode()
    assert signed_in(cast.root).get(INDEXES).status_code == 403


def test_a_deletion_links_only_to_pages_that_are_there(cast: Cast, letters: LettersEncoder, settings: Any) -> None:
    provider = make_provider(cast.acme, base_url="https://models.test/v1")
    choice = EmbeddingChoice.objects.create(tenant=cast.acme, provider=provider, model="small")
    deletion = f"/admin/assistant/provider/{provider.pk}/delete/"
    link = f"{CHOICES}{choice.pk}/change/"
    assert link in signed_in(cast.root).get(deletion).content.decode()
    settings.ASSISTANT_EMBEDDINGS = False
    page = signed_in(cast.root).get(deletion).content.decode()
    assert str(choice) in page and link not in page


def test_embed_anew_is_for_ones_own_tenant_and_audited(cast: Cast, letters: LettersEncoder) -> None:
    embedded(cast)
    theirs = EmbeddingIndex.objects.get(tenant=cast.globex)
    own = EmbeddingIndex.objects.get(tenant=cast.acme)
    sent = {"action": "anew", "_selected_action": [theirs.pk, own.pk]}
    assert signed_in(cast.amy).post(INDEXES, sent, follow=True).status_code == 200
    assert [row.tenant_id for row in PassageVector.objects.all()] == [cast.globex.pk]
    entry = AuditEntry.objects.get(action="embeddingindex.delete")
    assert (entry.tenant_id, entry.actor_id) == (cast.acme.pk, cast.amy.pk)


def test_each_tenant_is_embedded_anew_once_an_hour(cast: Cast, letters: LettersEncoder) -> None:
    embedded(cast)
    own = EmbeddingIndex.objects.get(tenant=cast.acme)
    amy = signed_in(cast.amy)
    sent = {"action": "anew", "_selected_action": [own.pk]}
    assert "embedded anew" in amy.post(INDEXES, sent, follow=True).content.decode()
    embed(cast.acme)
    own = EmbeddingIndex.objects.get(tenant=cast.acme)
    theirs = EmbeddingIndex.objects.get(tenant=cast.globex)
    both = {"action": "anew", "_selected_action": [own.pk, theirs.pk]}
    page = signed_in(cast.root).post(INDEXES, both, follow=True).content.decode()
    assert "The documents of Acme can be embedded anew again at" in page
    assert "The documents of 1 tenant are embedded anew." in page
    assert [row.tenant_id for row in PassageVector.objects.all()] == [cast.acme.pk]
    AuditEntry.objects.filter(tenant=cast.acme).update(created_at=timezone.now() - timedelta(minutes=61))
    amy.post(INDEXES, {"action": "anew", "_selected_action": [own.pk]})
    assert not PassageVector.objects.exists()


def test_an_admin_chooses_for_their_own_tenant_and_audited(cast: Cast, letters: LettersEncoder) -> None:
    provider = make_provider(cast.acme, base_url="http://127.0.0.1:9/v1")
    theirs = make_provider(cast.globex, base_url="http://127.0.0.1:9/v1")
    amy = signed_in(cast.amy)
    sent = {"tenant": cast.acme.pk, "is_on": "on", "provider": theirs.pk, "model": "m"}
    amy.post(f"{CHOICES}add/", sent)
    amy.post(f"{CHOICES}add/", {**sent, "tenant": cast.globex.pk})
    amy.post(f"{CHOICES}add/", {**sent, "tenant": "", "provider": "", "model": ""})
    amy.post(f"{CHOICES}add/", {**sent, "provider": provider.pk, "model": ""})
    assert not EmbeddingChoice.objects.exists()
    amy.post(f"{CHOICES}add/", {**sent, "provider": provider.pk})
    assert EmbeddingChoice.objects.get().provider == provider
    assert AuditEntry.objects.filter(tenant=cast.acme, action="embeddingchoice.add").count() == 1


def test_a_provider_that_embeds_is_not_deleted_and_its_documents_go_to_no_other(
    cast: Cast, letters: LettersEncoder
) -> None:
    for_all = make_provider(base_url="http://127.0.0.1:9/v1")
    own = make_provider(cast.acme, base_url="http://127.0.0.1:9/v1")
    EmbeddingChoice.objects.create(provider=for_all, model="m")
    EmbeddingChoice.objects.create(tenant=cast.acme, provider=own, model="m")
    Assistant.objects.all().delete()
    for user, provider in ((cast.amy, own), (cast.root, for_all)):
        address = f"/admin/assistant/provider/{provider.pk}/delete/"
        kept_by = signed_in(user).get(address).context["protected"]
        assert [True for one in kept_by if "mbedding choice" in str(one)] == [True]
        signed_in(user).post(address, {"post": "yes"})
    chosen = {tenant: choice_of(tenant.pk) for tenant in (cast.acme, cast.globex)}
    assert {tenant: one and one.provider for tenant, one in chosen.items()} == {cast.acme: own, cast.globex: for_all}
    EmbeddingChoice.objects.filter(tenant=cast.acme).delete()
    signed_in(cast.amy).post(f"/admin/assistant/provider/{own.pk}/delete/", {"post": "yes"})
    assert not Provider.objects.filter(pk=own.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_a_tenant_is_deleted_with_its_choice_and_provider(cast: Cast, letters: LettersEncoder) -> None:
    own = make_provider(cast.acme, base_url="http://127.0.0.1:9/v1")
    EmbeddingChoice.objects.create(tenant=cast.acme, provider=own, model="m")
    cast.acme.delete()
    assert not EmbeddingChoice.objects.exists() and not Provider.objects.filter(pk=own.pk).exists()


def test_an_operator_chooses_once_for_all(cast: Cast, letters: LettersEncoder) -> None:
    root = signed_in(cast.root)
    for _ in range(2):
        root.post(f"{CHOICES}add/", {"tenant": "", "provider": "", "model": ""})
    assert EmbeddingChoice.objects.get().is_on is False
