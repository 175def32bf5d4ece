"""In a host project: the chat inside its base template, and its sign-in page instead of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core import mail
from django.test import Client
from pytest_django.fixtures import Settings

from assistant.checks import base_template
from tests.base import PASSWORD, Cast

pytestmark = pytest.mark.django_db
LOOKS = Path(__file__).parents[1] / "host_project/looks/templates"
HOST = {
    "ROOT_URLCONF": "tests.host_project.looks.urls",
    "LOGIN_URL": "/sign-in/",
    "ASSISTANT_BASE_TEMPLATE": "chat_page.html",
}


@pytest.fixture
def host(settings: Settings) -> Settings:
    for name, value in HOST.items():
        setattr(settings, name, value)
    (engine, *others) = settings.TEMPLATES
    settings.TEMPLATES = [engine | {"DIRS": [LOOKS, *engine["DIRS"]]}, *others]
    return settings


@pytest.fixture
def visit(client: Client, cast: Cast) -> Client:
    client.force_login(cast.alice)
    return client


def test_the_pages_of_members_are_inside(host: Settings, visit: Client) -> None:
    for address in ("/t/acme/", "/accounts/settings/"):
        page = visit.get(address).content.decode()
        assert page.count("<html") == page.count("<title>") == page.count("<body>") == 1
        assert (
            "Initech" in page and '<div class="tenant-assistant in-host" lang="en" dir="ltr" data-catalogue="">' in page
        )
        assert page.index("frameworks/bootstrap.css") < page.index("assistant/css/base.css") < page.index("</head>")
        assert "theme.js" not in page


def test_the_part_of_the_page_says_its_own_language(host: Settings, visit: Client) -> None:
    """The host's root element has the host's."""
    page = visit.get("/t/acme/", headers={"Accept-Language": "ar"}).content.decode()
    assert (
        '<div class="tenant-assistant in-host" lang="ar" dir="rtl" data-catalogue="/static/assistant/languages/ar'
        in page
    )


def test_what_is_written_by_people_is_escaped_once(host: Settings, visit: Client, cast: Cast) -> None:
    type(cast.acme).objects.filter(pk=cast.acme.pk).update(name="<b>A & B")
    page = visit.get("/t/acme/").content.decode()
    assert "&lt;b&gt;A &amp; B · Tenant Assistant" in page and "<b>A" not in page and "&amp;lt;" not in page


def test_the_host_decides_on_language_and_appearance(host: Settings, visit: Client) -> None:
    page = visit.get("/accounts/settings/").content.decode()
    assert 'name="theme"' not in page and 'name="name"' in page
    assert "data-choose-theme" not in visit.get("/t/acme/").content.decode()
    host.MIDDLEWARE = [name for name in host.MIDDLEWARE if "PersonLanguage" not in name]
    assert 'name="language"' not in visit.get("/accounts/settings/").content.decode()


def test_pages_of_their_own_are_the_default(visit: Client) -> None:
    page = visit.get("/t/acme/").content.decode()
    assert 'class="tenant-assistant"' in page and "in-host" not in page and "theme.js" in page


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", ""),
        ("chat_page.html", ""),
        ("site.html", "it has no block assistant_title and no block assistant_head and no block assistant_content"),
        ("nothing.html", "there is no template 'nothing.html'"),
    ],
)
def test_a_base_template_is_checked(host: Settings, name: str, problem: str) -> None:
    host.ASSISTANT_BASE_TEMPLATE = name
    found = [message for message in base_template(None) if message.id == "assistant.E009"]
    assert bool(found) == bool(problem)
    assert not found or problem in found[0].msg


def test_our_sign_in_page_leads_to_the_hosts(host: Settings, client: Client, cast: Cast) -> None:
    answer = client.get("/accounts/login/", {"next": "/t/acme/"})
    assert answer["Location"] == "/sign-in/?next=/t/acme/"
    assert client.get("/accounts/login/", {"next": "https://evil.example.com/"})["Location"] == "/sign-in/?next=/"
    form = {"username": "alice", "password": PASSWORD}
    assert client.post("/accounts/login/", form)["Location"].startswith("/sign-in/")
    assert "_auth_user_id" not in client.session


def test_no_page_of_ours_changes_a_password_where_the_host_signs_people_in(host: Settings, visit: Client) -> None:
    host.EMAIL_HOST = "mail.example.com"
    page = visit.get("/accounts/settings/").content.decode()
    assert "/accounts/settings/password/" not in page
    assert visit.get("/accounts/settings/password/")["Location"] == "/accounts/settings/"
    stranger = Client()
    assert stranger.get("/accounts/password/").status_code == 404
    assert stranger.get("/accounts/password/link/", {"token": "x", "uid": "y"}).status_code == 404
    assert mail.outbox == []


def test_signing_out_goes_where_the_host_says(host: Settings, visit: Client) -> None:
    host.ASSISTANT_LOGOUT_URL = "leave"
    answer = visit.post("/accounts/logout/")
    assert (answer.status_code, answer["Location"]) == (307, "/leave/")
    assert "_auth_user_id" in visit.session
    host.ASSISTANT_LOGOUT_URL = ""
    host.LOGOUT_REDIRECT_URL = "orders"
    assert visit.post("/accounts/logout/")["Location"] == "/orders/"
    assert "_auth_user_id" not in visit.session


def test_in_our_own_site_signing_out_leads_to_our_sign_in_page(visit: Client) -> None:
    assert visit.post("/accounts/logout/")["Location"] == "/accounts/login/"
