"""A member's connections inside the base template of a host project."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from tests.pages.test_base_template import host, visit  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db


def test_the_page_is_inside(host: Settings, visit: Client) -> None:  # noqa: F811
    page = visit.get("/t/acme/connections/").content.decode()
    assert page.count("<html") == page.count("<title>") == page.count("<body>") == 1
    assert "Initech" in page and '<div class="tenant-assistant in-host" lang="en" dir="ltr" data-catalogue="">' in page
    assert "theme.js" not in page
