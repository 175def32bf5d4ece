"""Values of providers as people paste them: cleaned, or refused at their field; and rows written elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client, override_settings

from assistant.models import Assistant, Provider
from assistant.providers.unavailable import UnavailableModel
from assistant.services.assistants.provider_choice import choose_provider, model_of
from tests.base import Cast
from tests.factories import make_provider
from tests.fake_provider import FakeProvider
from tests.providers.test_given_settings import azure

ADD = "/admin/assistant/provider/add/"
KEY = "sk-canary-0123"
AZURE = "?api-version=2026-01-01"


@pytest.fixture(autouse=True)
def _on_this_machine() -> Any:
    with override_settings(DEBUG=True):  # the guard then allows the fake provider's address
        yield


def add(client: Client, cast: Cast, **values: str) -> str:
    form = {"tenant": str(cast.acme.pk), "name": "Own", "default_model": "fake", "prices": "{}", **values}
    return client.post(ADD, {"base_url": "https://llm.example.com/v1", **form}, follow=True).content.decode()


def test_pasted_values_are_saved_without_quotes_and_white_space(amys: Client, cast: Cast) -> None:
    pasted = {"base_url": ' "https://llm.example.com/v1/chat/completions" ', "new_api_key": f'\u200b"{KEY}"\n'}
    add(amys, cast, default_model="'gpt-5'", **pasted)
    row = Provider.objects.get(name="Own")
    assert (row.base_url, row.api_key, row.default_model) == ("https://llm.example.com/v1", KEY, "gpt-5")


@pytest.mark.parametrize(("key", "odd"), [("sk-a sk-b", "a space at position 5"), ("sk-é", "the character U+00E9")])
def test_a_key_that_cannot_be_sent_is_refused_at_its_field(amys: Client, cast: Cast, key: str, odd: str) -> None:
    page = add(amys, cast, new_api_key=key)
    assert f"API key cannot be sent: it has {odd}" in page and key not in page
    assert not Provider.objects.filter(name="Own").exists()


def test_a_new_key_that_cannot_be_sent_is_refused_at_its_field(amys: Client, cast: Cast) -> None:
    row = make_provider(cast.acme, base_url="https://llm.example.com/v1", api_key=KEY)
    page = amys.post(f"/admin/assistant/provider/{row.pk}/rotate/", {"api_key": "sk-a sk-b"}).content.decode()
    assert "New API key cannot be sent: it has a space" in page


def test_a_stored_key_that_cannot_be_sent_is_told_to_operators(amys: Client, cast: Cast, support: Assistant) -> None:
    row = make_provider(cast.acme, base_url="https://llm.example.com/v1", api_key="sk-a\nsk-b")
    page = amys.post(f"/admin/assistant/provider/{row.pk}/test/", follow=True).content.decode()
    assert "The API key cannot be sent: it has a line end at position 5" in page
    support.provider = row
    assert isinstance(model_of(choose_provider(support)), UnavailableModel)


def test_a_stored_key_with_a_line_end_works(amys: Client, cast: Cast, fake_provider: FakeProvider) -> None:
    row = make_provider(cast.acme, base_url=fake_provider.url, api_key=f"{KEY}\n")
    page = amys.post(f"/admin/assistant/provider/{row.pk}/test/", follow=True).content.decode()
    assert "answers with the model" in page
    assert {request.headers["authorization"] for request in fake_provider.requests} == {f"Bearer {KEY}"}


def test_azures_address_is_saved_and_used_with_its_query(amys: Client, cast: Cast, fake_provider: FakeProvider) -> None:
    fake_provider.rule(azure)
    add(amys, cast, base_url=f"{fake_provider.url}/chat/completions{AZURE}", new_api_key=KEY)
    row = Provider.objects.get(name="Own")
    assert row.base_url == fake_provider.url + AZURE
    page = amys.post(f"/admin/assistant/provider/{row.pk}/test/", follow=True).content.decode()
    assert "Own answers with the model fake. It lists 1 model." in page
    assert {request.path for request in fake_provider.requests} == {
        f"/v1/models{AZURE}",
        f"/v1/chat/completions{AZURE}",
    }
