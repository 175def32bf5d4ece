"""People set their name, language and appearance themselves, and change their password."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation
from pytest_django.fixtures import Settings

from assistant.models import PersonSettings
from assistant.services.privacy.erasure import erase_user
from tests.base import PASSWORD, Cast

pytestmark = pytest.mark.django_db
ROOT = '<html class="tenant-assistant" lang="en" dir="ltr" data-catalogue=""'
PAGE = "/accounts/settings/"
NEW = "Entirely-other-77"


@pytest.fixture
def visit(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def save(client: Client, **fields: str) -> str:
    return client.post(PAGE, {"name": "", "language": "", "theme": "system", **fields}, follow=True).content.decode()


def root_of(page: str) -> str:
    return page[page.index("<html") : page.index("<head>")].strip()


def test_the_name_is_shown_instead_of_the_user_name(visit: Client, cast: Cast) -> None:
    assert "Your settings are saved." in save(visit, name="Alice <b>Adams")
    page = visit.get("/t/acme/").content.decode()
    assert '<span class="name"><bdi>Alice &lt;b&gt;Adams</bdi></span>' in page


@pytest.mark.parametrize(
    ("theme", "root"),
    [
        (
            "dark",
            f'{ROOT} data-own-theme="dark" data-theme="dark">',
        ),
        (
            "light",
            f'{ROOT} data-own-theme="light" data-theme="light">',
        ),
        ("system", f'{ROOT} data-own-theme="system">'),
    ],
)
def test_the_first_paint_has_the_appearance(visit: Client, cast: Cast, theme: str, root: str) -> None:
    assert root_of(visit.get("/t/acme/").content.decode()) == f"{ROOT}>"
    assert visit.post(f"{PAGE}theme/", {"theme": theme}).status_code == 204
    assert root_of(visit.get("/t/acme/").content.decode()) == root
    assert root_of(visit.get(PAGE).content.decode()) == root
    assert root_of(Client().get("/accounts/login/").content.decode()) == f"{ROOT}>"


def test_another_person_keeps_their_own(visit: Client, cast: Cast) -> None:
    save(visit, name="Alice A.", theme="dark")
    other = Client()
    other.force_login(cast.mallory)
    save(other, theme="light")
    assert PersonSettings.objects.get(user=cast.alice).theme == "dark"
    assert "Alice A." not in other.get(PAGE).content.decode()


def test_what_does_not_exist_is_refused(visit: Client) -> None:
    assert "Select a valid choice" in save(visit, language="xx")
    assert "Select a valid choice" in save(visit, theme="pink")
    assert visit.post(f"{PAGE}theme/", {"theme": "pink"}).status_code == 400
    assert "at most 100 characters" in save(visit, name="x" * 101)
    assert not PersonSettings.objects.exists()


def test_the_language_is_used_on_every_page_and_for_nobody_else(visit: Client, cast: Cast) -> None:
    with translation.override("en"):
        save(visit, language="de")
        german = visit.get("/t/acme/", headers={"accept-language": "fr"})
        assert german["Content-Language"] == "de"
        assert "Passwort" in visit.get(f"{PAGE}password/").content.decode()
        assert Client().get("/accounts/login/", headers={"accept-language": "fr"})["Content-Language"] == "fr"
        assert visit.get("/api/v1/tenants/acme/assistants/")["Content-Language"] == "en"


def test_that_they_are_saved_is_said_in_the_chosen_language(visit: Client) -> None:
    assert "Ihre Einstellungen sind gespeichert." in save(visit, language="de")
    assert "Your settings are saved." in save(visit, language="")


def test_a_language_that_was_taken_away_is_left_to_the_browser(visit: Client, settings: Settings) -> None:
    save(visit, language="de")
    settings.LANGUAGES = [("en", "English")]
    assert visit.get(PAGE)["Content-Language"] == "en"


@pytest.mark.parametrize("page", [PAGE, f"{PAGE}password/"])
def test_strangers_are_asked_to_sign_in(client: Client, page: str) -> None:
    assert client.get(page).headers["Location"] == f"/accounts/login/?next={page}"
    assert client.post(page).status_code == 302


def test_forms_of_other_sites_change_nothing(alice: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post(PAGE, {"theme": "dark"}).status_code == 403
    assert strict.post(f"{PAGE}theme/", {"theme": "dark"}).status_code == 403


def test_the_password_is_changed_with_the_old_one(visit: Client, cast: Cast) -> None:
    form = {"old_password": "wrong", "new_password1": NEW, "new_password2": NEW}
    assert visit.post(f"{PAGE}password/", form).status_code == 200
    answer = visit.post(f"{PAGE}password/", {**form, "old_password": PASSWORD}, follow=True)
    assert "Your password was changed." in answer.content.decode()
    assert Client().login(username="alice", password=NEW)
    assert visit.get("/t/acme/").status_code == 200


def test_who_has_no_password_is_offered_none(visit: Client, alice: User) -> None:
    alice.set_unusable_password()
    alice.save()
    visit.force_login(alice)
    assert "Change the password" not in visit.get(PAGE).content.decode()
    assert visit.get(f"{PAGE}password/").headers["Location"] == PAGE


def test_the_settings_are_erased_with_the_person(visit: Client, cast: Cast) -> None:
    save(visit, name="Alice A.", theme="dark")
    erase_user(user=cast.alice, actor=None)
    assert not PersonSettings.objects.exists()
