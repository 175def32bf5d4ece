"""The control panel mounted beside a project's own admin, which keeps its address, theme and sign-in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.test import Client, override_settings
from django.urls import clear_url_caches, include, path

from assistant.contrib.panel.mounted import MountedPanel

pytestmark = pytest.mark.django_db


@pytest.fixture
def mounted() -> Iterator[None]:
    urls = ModuleType("mounted_urls")
    urls.urlpatterns = [  # type: ignore[attr-defined]
        path("panel/", MountedPanel().urls),
        path("admin/", AdminSite(name="admin").urls),
        path("", include("assistant.urls")),
    ]
    with override_settings(ROOT_URLCONF=urls, LOGIN_URL="/sign-in/"):
        clear_url_caches()
        yield
    clear_url_caches()


def test_who_is_not_signed_in_is_led_to_the_projects_own_page(mounted: None, client: Client) -> None:
    answer = client.get("/panel/", follow=True)
    assert answer.redirect_chain[-1][0] == "/sign-in/?next=/panel/"


def test_a_tenants_admin_needs_no_staff_flag_and_a_member_is_refused(mounted: None, alice: Any) -> None:
    client = Client()
    client.force_login(alice)
    assert client.get("/panel/", follow=True).status_code == 403
    alice.assistant_memberships.update(role="admin")
    assert not alice.is_staff
    assert client.get("/panel/").status_code == 200


def test_links_of_its_pages_stay_below_its_mount(mounted: None, admin_user: Any, acme: Any) -> None:
    client = Client()
    client.force_login(admin_user)
    for page in ("", "advanced/", "assistant/tenant/", f"assistant/tenant/{acme.pk}/change/", "spend/"):
        answer = client.get(f"/panel/{page}")
        assert answer.status_code == 200, page
        html = answer.content.decode()
        assert "panel-rooms" in html
        assert not re.findall(r'(?:href|action)="/admin/[^"]*', html), page
    assert admin.site.name == "admin"
