"""The mounted panel inside a project's base template: the page around, what is in the frame, and who may come in."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from tests.pages.test_base_template import HOST, LOOKS

pytestmark = pytest.mark.django_db
PANEL = "/office/panel/"
AROUND = {"Sec-Fetch-Dest": "document"}
FRAMED = {"Sec-Fetch-Dest": "iframe"}


@pytest.fixture
def host(settings: Settings) -> Settings:
    for name, value in HOST.items():
        setattr(settings, name, value)
    (engine, *others) = settings.TEMPLATES
    settings.TEMPLATES = [engine | {"DIRS": [LOOKS, *engine["DIRS"]]}, *others]
    return settings


@pytest.fixture
def visit(client: Client, admin_user: Any) -> Client:
    client.force_login(admin_user)
    return client


def test_the_hosts_page_is_around_a_frame_of_the_same_address(host: Settings, visit: Client) -> None:
    answer = visit.get(f"{PANEL}advanced/?q=%3Cb%3E", headers=AROUND)
    page = answer.content.decode()
    assert "Initech" in page and "panel-rooms" not in page and page.count("<html") == 1
    assert f'src="{PANEL}advanced/?q=%3Cb%3E"' in page
    assert "Sec-Fetch-Dest" in answer["Vary"] and answer["X-Frame-Options"] == "DENY"
    assert "frame-src 'self'" in answer["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]


def test_in_the_frame_is_the_panels_page_which_no_other_origin_may_frame(host: Settings, visit: Client) -> None:
    answer = visit.get(PANEL, headers=FRAMED)
    page = answer.content.decode()
    assert "panel-rooms" in page and "Initech" not in page and f'content="{PANEL}"' in page
    assert "Sec-Fetch-Dest" in answer["Vary"] and answer["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in answer["Content-Security-Policy"]
    assert "default-src 'none'" in answer["Content-Security-Policy"]


def test_without_the_setting_or_the_header_the_page_stands_alone(host: Settings, visit: Client) -> None:
    alone = visit.get(PANEL)
    host.ASSISTANT_BASE_TEMPLATE = ""
    for answer in (alone, visit.get(PANEL, headers=AROUND), visit.get(PANEL, headers=FRAMED)):
        assert "panel-rooms" in answer.content.decode() and "framed.js" not in answer.content.decode()
        assert answer["X-Frame-Options"] == "DENY"


def test_windows_of_forms_and_what_is_sent_have_no_frame(host: Settings, visit: Client) -> None:
    for answer in (
        visit.get(f"{PANEL}assistant/provider/add/?_popup=1", headers=AROUND),
        visit.post(f"{PANEL}assistant/provider/add/", {}, headers=AROUND),
    ):
        assert answer.status_code == 200 and "tenant-assistant-panel" not in answer.content.decode()


def test_strangers_sign_in_outside_of_the_frame_and_members_are_refused(host: Settings, alice: Any) -> None:
    stranger = Client()
    assert stranger.get(PANEL, headers=AROUND, follow=True).redirect_chain[-1][0] == f"/sign-in/?next={PANEL}"
    framed = stranger.get(PANEL, headers=FRAMED)
    assert framed.status_code == 200 and "way_out.js" in framed.content.decode() and "Location" not in framed
    stranger.force_login(alice)
    assert stranger.get(PANEL, headers=AROUND, follow=True).status_code == 403
    assert "panel-rooms" not in stranger.get(PANEL, headers=FRAMED).content.decode()
