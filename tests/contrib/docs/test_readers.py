"""Who may read the documentation pages."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.test import Client, override_settings

pytestmark = pytest.mark.django_db
PAGES = ("/docs/", "/docs/tools/", "/docs/search/?q=tool", "/docs/asyncapi.json", "/docs/images/chat.png")


def signed_in(*, is_staff: bool) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_user("ada", is_staff=is_staff))
    return client


@pytest.mark.parametrize("page", PAGES)
@override_settings(ASSISTANT_DOCS_PUBLIC=False)
def test_pages_are_for_staff_unless_they_are_public(page: str, client: Client) -> None:
    answer = client.get(page)
    assert answer.status_code == 302
    assert "login" in answer.headers["Location"]
    assert signed_in(is_staff=False).get(page).status_code == 404


@override_settings(ASSISTANT_DOCS_PUBLIC=False)
def test_staff_reads_them() -> None:
    client = signed_in(is_staff=True)
    assert [client.get(page).status_code for page in PAGES] == [200] * len(PAGES)
