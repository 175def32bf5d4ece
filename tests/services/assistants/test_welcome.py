"""An assistant's greeting and starters in several languages: read, entered, exported."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from assistant.contrib.bundles.services.export import bundle_of_tenant, text_of
from assistant.contrib.bundles.services.imports import import_bundle
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.models import Assistant
from assistant.services.assistants.welcome import greetings_of, read_translations, welcome_of
from tests.base import Cast
from tests.contrib.panel.tenants.test_scope import new_assistant
from tests.factories import make_tenant

TEXTS = {"pt": {"greeting": "Olá", "starters": ["Onde está?"]}, "de": {"greeting": "Hallo"}}


@pytest.mark.parametrize(
    ("language", "greeting", "starter"),
    [("en", "Hello", "Where is it?"), ("pt-br", "Olá", "Onde está?"), ("de", "Hallo", "Where is it?")],
)
def test_what_has_no_translation_is_the_default(language: str, greeting: str, starter: str) -> None:
    assistant = Assistant(greeting="Hello", starters=["Where is it?", 7], translations=TEXTS)
    found = welcome_of(assistant, language)
    assert (found.greeting, found.starters) == (greeting, (starter,))
    assert greetings_of(assistant) == {"default": "Hello", "pt": "Olá", "de": "Hallo"}


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {"de": "Hallo"},
        {"de": {"greeting": "x" * 201}},
        {"de": {"starters": ["a"] * 5}},
        {"de": {"starters": ["x" * 501]}},
        {"de": {"words": "x"}},
        {"d e": {"greeting": "x"}},
        {f"l{number}": {"greeting": "x"} for number in range(31)},
    ],
)
def test_other_forms_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_translations(wrong)


@pytest.mark.django_db
def test_a_bundle_carries_them(cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(greeting="Hello", translations=TEXTS)
    copy = make_tenant("copy")
    bundle = read_bundle(text_of(bundle_of_tenant(tenant=cast.acme)).encode())
    import_bundle(bundle=bundle, tenant=copy, actor=None)
    row = Assistant.objects.get(tenant=copy, slug=cast.support.slug)
    assert (row.greeting, row.translations) == ("Hello", TEXTS)


@pytest.mark.django_db
def test_admins_enter_them_by_language(client: Client, cast: Cast) -> None:
    cast.amy.is_staff = True
    cast.amy.save()
    client.force_login(cast.amy)
    page = client.get("/admin/assistant/assistant/add/").content.decode()
    assert 'name="greeting_de"' in page and 'name="starters_ar"' in page and 'name="greeting_en"' not in page
    entered = {"greeting": "Hello", "greeting_de": " Hallo ", "starters_de": "Wo ist es?\n\nHilfe", "starters_fr": ""}
    answer = client.post("/admin/assistant/assistant/add/", new_assistant(tenant=cast.acme.pk, **entered))
    assert answer.status_code == 302
    row = Assistant.objects.get(slug="sales")
    assert (row.greeting, row.translations) == (
        "Hello",
        {"de": {"greeting": "Hallo", "starters": ["Wo ist es?", "Hilfe"]}},
    )
    # What is in no field of the page stays.
    kept = {"de": {"notice": "Eine KI antwortet."}, "xx": {"greeting": "?"}}
    Assistant.objects.filter(pk=row.pk).update(translations=kept | {"de": kept["de"] | row.translations["de"]})
    address = f"/admin/assistant/assistant/{row.pk}/change/"
    client.post(address, new_assistant(tenant=cast.acme.pk, **entered | {"greeting_de": "Guten Tag"}))
    row.refresh_from_db()
    texts = {"greeting": "Guten Tag", "starters": ["Wo ist es?", "Hilfe"]}
    assert row.translations == kept | {"de": kept["de"] | texts}
    assert "Wo ist es?" in client.get(address).content.decode()
    many = new_assistant(tenant=cast.acme.pk, starters_de="\n".join("abcde"))
    assert b"At most 4 starter prompts." in client.post(address, many).content
