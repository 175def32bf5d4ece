"""Pages are in their reader's language, and say so: that of their settings, else the browser's, else the default."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from assistant.models import Assistant, PersonSettings
from assistant.services.languages import catalogue_url, catalogue_version, own_language
from tests.base import Cast

pytestmark = pytest.mark.django_db
LOGIN = "/accounts/login/"


def shown(client: Client, path: str = LOGIN, asked: str = "") -> str:
    return client.get(path, headers={"Accept-Language": asked}).content.decode()


@pytest.mark.parametrize(
    ("asked", "lang", "direction", "words"),
    [
        ("", "en", "ltr", "Sign in"),
        ("de-AT,de;q=0.9,en;q=0.8", "de", "ltr", "Anmelden"),
        ("it,de;q=0.5", "de", "ltr", "Anmelden"),
        ("it", "en", "ltr", "Sign in"),
        ("zh-CN", "zh-hans", "ltr", ""),
        ("pt-BR", "pt", "ltr", ""),
        ("ar-EG", "ar", "rtl", ""),
    ],
)
def test_a_page_is_in_the_browsers_language(asked: str, lang: str, direction: str, words: str, client: Client) -> None:
    page = shown(client, asked=asked)
    assert f'<html class="tenant-assistant" lang="{lang}" dir="{direction}"' in page
    assert words in page


def test_a_members_own_language_comes_first(client: Client, cast: Cast) -> None:
    client.force_login(cast.alice)
    PersonSettings.objects.create(user=cast.alice, language="de")
    page = shown(client, "/t/acme/", "fr")
    assert '<html class="tenant-assistant" lang="de"' in page
    assert "Neue Unterhaltung" in page
    assert f'data-catalogue="{catalogue_url("de")}"' in page


def test_english_needs_no_catalogue(client: Client, cast: Cast) -> None:
    client.force_login(cast.alice)
    page = shown(client, "/t/acme/")
    assert 'data-catalogue=""' in page
    assert "/languages/" not in page


def test_errors_are_translated(client: Client) -> None:
    assert "Seite nicht gefunden" in shown(client, "/nowhere/", "de")


def test_a_project_offers_the_languages_that_it_has(client: Client, cast: Cast, settings: Settings) -> None:
    settings.LANGUAGES = [("en", "English"), ("it", "Italian"), ("de-at", "Austrian German")]
    client.force_login(cast.alice)
    page = shown(client, "/accounts/settings/")
    assert 'value="de-at"' in page
    assert 'value="it"' not in page
    assert '<html class="tenant-assistant" lang="en"' in shown(Client(), asked="fr")


def test_a_catalogue_is_kept_for_ever_under_the_address_of_its_version(client: Client) -> None:
    assert (own_language("de-at"), own_language("it"), own_language(None)) == ("de", "", "")
    assert catalogue_url("en") == ""
    assert catalogue_url("de").endswith(f"/assistant/languages/de.js?v={catalogue_version('de')}")


def test_an_assistant_greets_in_the_readers_language(client: Client, cast: Cast) -> None:
    client.force_login(cast.alice)
    own = {"de": {"greeting": "Wobei darf es sein?", "starters": ["Wo ist mein Paket?"]}}
    Assistant.objects.filter(pk=cast.support.pk).update(
        greeting="What can I do?", starters=["Where is it?"], translations=own
    )
    english, german = shown(client, "/t/acme/"), shown(client, "/t/acme/", "de")
    assert "What can I do?" in english and "Where is it?" in english
    assert "Wobei darf es sein?" in german and "Wo ist mein Paket?" in german
    assert "Where is it?" in shown(client, "/t/acme/", "fr")
