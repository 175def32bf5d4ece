"""A provider that answers for assistants cannot be deleted, and the page lists them."""

from __future__ import annotations

import pytest
from django.test import Client

from assistant.models import Provider
from assistant.services.assistants.provider_choice import choose_provider
from assistant.services.assistants.provider_use import assistants_of
from tests.base import Cast
from tests.factories import make_assistant, make_provider

LIST = "/admin/assistant/provider/"


def delete(client: Client, provider: Provider) -> str:
    return client.post(f"{LIST}{provider.pk}/delete/", {"post": "yes"}, follow=True).content.decode()


@pytest.mark.parametrize("layer", ["assistant", "default", "oldest"])
def test_a_provider_in_use_is_kept_and_its_users_are_listed(root: Client, cast: Cast, layer: str) -> None:
    row = make_provider(cast.acme if layer == "oldest" else None, base_url="https://llm.example.com/v1")
    if layer == "assistant":
        cast.support.provider = row
        cast.support.save()
    elif layer == "default":
        cast.acme.default_provider = row
        cast.acme.save()
    page = delete(root, row)
    assert "Support (acme/support)" in page
    assert "globex/support" not in page
    assert Provider.objects.filter(pk=row.pk).exists()
    assert "Support (acme/support)" in root.post(LIST, selected(row)).content.decode()
    assert Provider.objects.filter(pk=row.pk).exists()


def selected(row: Provider) -> dict[str, object]:
    return {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"}


def test_the_users_are_those_that_the_choice_of_a_run_names(cast: Cast) -> None:
    first, second = (make_provider(cast.acme, base_url="https://llm.example.com/v1") for _ in range(2))
    own = make_assistant(cast.acme, "own", provider=second)
    for default in (None, first, second):
        cast.acme.default_provider = default
        cast.acme.save()
        for assistant in (type(own).objects.get(pk=own.pk), type(own).objects.get(pk=cast.support.pk)):
            answers = [row for row in (first, second) if assistant in assistants_of(provider=row)]
            assert [row.name for row in answers] == [choose_provider(assistant).name]


def test_a_provider_that_nobody_uses_can_be_deleted(root: Client, cast: Cast) -> None:
    row = make_provider(None, base_url="https://llm.example.com/v1")
    delete(root, row)
    assert not Provider.objects.exists()
