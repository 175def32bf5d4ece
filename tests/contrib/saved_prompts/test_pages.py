"""The pages of saved prompts, and the admin's list of the tenant's."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from assistant.contrib.saved_prompts.models import SavedPrompt
from tests.base import Cast

pytestmark = pytest.mark.django_db
PAGE = "/t/acme/prompts/"
ADMIN = "/admin/assistant_saved_prompts/savedprompt/"
GIVEN = {"name": "Reply", "description": "", "text": "Dear {{ customer }},"}


def signed_in(user: Any, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def test_a_member_saves_changes_and_deletes_their_own(cast: Cast) -> None:
    alices = signed_in(cast.alice)
    assert alices.post(PAGE, GIVEN | {"is_shared": "on"}).status_code == 302
    row = SavedPrompt.objects.get()
    assert row.user_id == cast.alice.pk  # only an admin's form has the other
    assert "Dear {{ customer }}," in alices.get(PAGE).content.decode()
    own = f"{PAGE}{row.pk}/"
    assert alices.post(own, GIVEN | {"name": "Answer"}).status_code == 302
    row.refresh_from_db()
    assert row.name == "Answer"
    refused = alices.post(own, GIVEN | {"text": "Dear {{ }}"})
    assert (refused.status_code, "between two braces" in refused.content.decode()) == (200, True)
    assert alices.post(own, {"do": "delete"}).status_code == 302
    assert not SavedPrompt.objects.exists()


def test_an_admin_saves_for_everybody_and_others_cannot_change_it(cast: Cast) -> None:
    assert signed_in(cast.amy).post(PAGE, GIVEN | {"is_shared": "on"}).status_code == 302
    row = SavedPrompt.objects.get()
    assert row.user_id is None
    alices = signed_in(cast.alice)
    page = alices.get(PAGE).content.decode()
    assert "Reply" in page and f"{PAGE}{row.pk}/" not in page
    for user in (cast.alice, cast.mallory):
        assert signed_in(user).post(f"{PAGE}{row.pk}/", {"do": "delete"}).status_code == 404
    assert signed_in(cast.mallory).get(PAGE).status_code == 404
    assert SavedPrompt.objects.exists()


def test_a_form_needs_its_token(cast: Cast) -> None:
    assert signed_in(cast.alice, enforce_csrf_checks=True).post(PAGE, GIVEN).status_code == 403


def test_the_admin_has_the_tenants_prompts_with_their_uses_and_nobodys_own(cast: Cast) -> None:
    own = SavedPrompt.objects.create(tenant=cast.acme, user=cast.alice, name="Mine", text="Secret")
    SavedPrompt.objects.create(tenant=cast.acme, name="Ours", text="Hello", uses=42)
    SavedPrompt.objects.create(tenant=cast.globex, name="Theirs", text="Hello")
    cast.amy.is_staff = True
    cast.amy.save()
    amys = signed_in(cast.amy)
    listed = amys.get(ADMIN).content.decode()
    assert "Ours" in listed and "42" in listed and "Mine" not in listed and "Theirs" not in listed
    for client in (amys, signed_in(cast.root)):
        assert client.get(f"{ADMIN}{own.pk}/change/").status_code in {302, 404}
